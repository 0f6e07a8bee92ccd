import { type Figures, median, spread } from './rounds.ts'

/** One line of the report; `floor` and `ratio` are null when the floor could not be measured here. */
export interface Result {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly floor: number | null
  readonly ratio: number | null
  readonly target: number | null
  readonly higher_is_better: boolean
}

/** A result with what only the table shows. */
export interface Line extends Result {
  /** What the floor is. */
  readonly against: string
  /** How far the rounds lie apart: of the value and of the floor. */
  readonly spreads: readonly number[]
}

/** Compares the figures of two sides; a floor that was not measured leaves the ratio empty. */
export function compare(
  figures: Figures,
  sides: { value: string; floor: string },
  result: Pick<Result, 'name' | 'unit' | 'target'>,
): Line {
  const values = figures.get(sides.value)
  if (!values) throw new Error(`${sides.value} was not measured`)
  const floors = figures.get(sides.floor)
  const value = round(median(values), 1)
  const floor = floors ? round(median(floors), 1) : null
  return {
    ...result,
    value,
    floor,
    ratio: floor === null ? null : round(value / floor, 3),
    higher_is_better: true,
    against: sides.floor,
    spreads: [values, floors ?? []].filter((each) => each.length > 0).map(spread),
  }
}

/** The same for times: the smaller figure is the better one. */
export function lowerIsBetter(
  figures: Figures,
  sides: { value: string; floor: string },
  result: Pick<Result, 'name' | 'unit' | 'target'>,
): Line {
  const ratio = median(figures.get(sides.value) ?? []) / median(figures.get(sides.floor) ?? [])
  return { ...compare(figures, sides, result), ratio: round(ratio, 3), higher_is_better: false }
}

/** Just the members that the JSON report promises. */
export function toResult({ name, value, unit, floor, ratio, target, higher_is_better }: Line): Result {
  return { name, value, unit, floor, ratio, target, higher_is_better }
}

const COLUMNS = ['benchmark', 'value', 'unit', 'floor', 'ratio', 'target', '', 'floor is', 'rounds ±'] as const

/** A table for people. */
export function tableOf(lines: readonly Line[]): string {
  const rows = lines.map((line) => [
    line.name,
    figure(line.value),
    line.unit,
    figure(line.floor),
    line.ratio?.toFixed(2) ?? '–',
    line.target?.toFixed(2) ?? '–',
    verdict(line),
    line.against,
    line.spreads.map((each) => `${Math.round(each * 50)} %`).join(', '),
  ])
  const widths = COLUMNS.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const isNumber = (column: number) => [1, 3, 4, 5].includes(column)
  const format = (row: readonly string[]) =>
    row
      .map((cell, column) => (isNumber(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd()
  return [COLUMNS, ...rows].map(format).join('\n')
}

function verdict({ ratio, target, higher_is_better }: Result): string {
  if (ratio === null || target === null) return ''
  return (higher_is_better ? ratio >= target : ratio <= target) ? 'met' : 'MISSED'
}

const figure = (value: number | null): string => (value === null ? '–' : Math.round(value).toLocaleString('en-US'))

function round(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits
}

import type { Cost, CostLine } from './cost.ts'
import { type Figures, median, spread } from './rounds.ts'

/** One line of the report; `floor` and `ratio` are null if the floor could not be measured. */
export interface Result {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly floor: number | null
  readonly ratio: number | null
  readonly target: number | null
  readonly higher_is_better: boolean
  /** Cost per sale, page … of the service, if measured. */
  readonly cost: Cost | null
}

/** Result with fields for the table only. */
export interface Line extends Omit<Result, 'cost'> {
  readonly cost?: CostLine | null
  /** Name of the floor. */
  readonly against: string
  /** Spread of the rounds: of the value and of the floor. */
  readonly spreads: readonly number[]
}

/** Compares the figures of two sides; without a floor the ratio is null. */
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

/** The same for times: lower is better. */
export function lowerIsBetter(
  figures: Figures,
  sides: { value: string; floor: string },
  result: Pick<Result, 'name' | 'unit' | 'target'>,
): Line {
  const floors = figures.get(sides.floor)
  const ratio = floors ? round(median(figures.get(sides.value) ?? []) / median(floors), 3) : null
  return { ...compare(figures, sides, result), ratio, higher_is_better: false }
}

/** Exactly the fields of the JSON report. */
export function toResult({ name, value, unit, floor, ratio, target, higher_is_better, cost }: Line): Result {
  const told = cost ? costOnly(cost) : null
  return { name, value, unit, floor, ratio, target, higher_is_better, cost: told }
}

const costOnly = ({ spreads: _, ...cost }: CostLine): Cost => cost

const COLUMNS = ['benchmark', 'value', 'unit', 'floor', 'ratio', 'target', '', 'floor is', 'rounds ±'] as const

/** Text table. */
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
    told(line.spreads),
  ])
  return aligned(COLUMNS, rows, [1, 3, 4, 5])
}

const COST_COLUMNS = [
  'cost of',
  'each',
  'service µs',
  'Postgres µs',
  'round trips',
  'statements',
  'writes',
  'to others',
  'WAL bytes',
  'heap bytes',
  'peak MiB',
  'loop p99 ms',
  'rounds ±',
] as const

/** Rows with the cost of each sale, page …; null if there are none. */
export function costTableOf(lines: readonly Line[]): string | null {
  const rows = lines.flatMap(({ name, cost }) =>
    cost
      ? [
          [
            name,
            cost.per,
            ...[cost.service_us, cost.postgres_us].map(figure),
            ...[cost.round_trips, cost.statements, cost.postgres_writes, cost.other_writes].map(few),
            ...[cost.wal_bytes, cost.allocated_bytes, cost.peak_mib].map(figure),
            cost.loop_p99_ms.toFixed(1),
            told(cost.spreads),
          ],
        ]
      : [],
  )
  return rows.length === 0 ? null : aligned(COST_COLUMNS, rows, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
}

function aligned(titles: readonly string[], rows: readonly (readonly string[])[], numbers: readonly number[]): string {
  const widths = titles.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const format = (row: readonly string[]) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0
        return numbers.includes(column) ? cell.padStart(width) : cell.padEnd(width)
      })
      .join('  ')
      .trimEnd()
  return [titles, ...rows].map(format).join('\n')
}

const told = (spreads: readonly number[]): string => spreads.map((each) => `${Math.round(each * 50)} %`).join(', ')

/** Figures below ten need decimals. */
const few = (value: number): string => (value < 10 ? value.toFixed(2) : figure(value))

function verdict({ ratio, target, higher_is_better }: Line): string {
  if (ratio === null || target === null) return ''
  return (higher_is_better ? ratio >= target : ratio <= target) ? 'met' : 'MISSED'
}

const figure = (value: number | null): string => (value === null ? '–' : Math.round(value).toLocaleString('en-US'))

function round(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits
}

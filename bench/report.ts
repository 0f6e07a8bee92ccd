import type { Cost } from './cost.ts'
import { type Figures, median, spread } from './rounds.ts'

/** One line of the report; `floor` and `ratio` are null if the floor could not be measured. */
export interface Line {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly floor: number | null
  readonly ratio: number | null
  readonly target: number | null
  readonly isHigherBetter: boolean
  /** Name of the floor. */
  readonly against: string
  /** Spread of the rounds: of the value and of the floor. */
  readonly spreads: readonly number[]
  /** Cost per sale, page … of the service, if measured. */
  readonly cost?: Cost | null
}

interface Compared extends Pick<Line, 'name' | 'unit' | 'target' | 'cost'> {
  readonly value: string
  readonly floor: string
}

/** Compares the rates of two sides; without a floor the ratio is null. */
export function compare(figures: Figures, { value, floor, ...result }: Compared): Line {
  const values = figures.get(value)
  if (!values) throw new Error(`${value} was not measured`)
  const floors = figures.get(floor)
  return {
    ...result,
    value: median(values),
    floor: floors ? median(floors) : null,
    ratio: floors ? median(values) / median(floors) : null,
    isHigherBetter: true,
    against: floor,
    spreads: [values, floors ?? []].filter(({ length }) => length > 0).map(spread),
  }
}

/** The same for times. */
export const compareTimes = (figures: Figures, compared: Compared): Line => ({
  ...compare(figures, compared),
  isHigherBetter: false,
})

/** Time that has a bound instead of a floor. */
export const bounded = (result: Pick<Line, 'name' | 'value' | 'unit' | 'cost'>, bound: number): Line => ({
  ...result,
  floor: bound,
  ratio: result.value / bound,
  target: 1,
  isHigherBetter: false,
  against: 'what it may take',
  spreads: [],
})

type Column<T> = readonly [title: string, cell: (row: T) => string | number]

const COLUMNS: readonly Column<Line>[] = [
  ['benchmark', ({ name }) => name],
  ['value', ({ value }) => value],
  ['unit', ({ unit }) => unit],
  ['floor', ({ floor }) => floor ?? '–'],
  ['ratio', ({ ratio }) => ratio?.toFixed(2) ?? '–'],
  ['target', ({ target }) => target?.toFixed(2) ?? '–'],
  ['', verdict],
  ['floor is', ({ against }) => against],
  ['rounds ±', ({ spreads }) => halves(spreads)],
]

const COST_COLUMNS: readonly Column<Cost & { readonly name: string }>[] = [
  ['cost of', ({ name }) => name],
  ['each', ({ per }) => per],
  ['service µs', ({ service_us }) => service_us],
  ['Postgres µs', ({ postgres_us }) => postgres_us],
  ['round trips', ({ round_trips }) => round_trips],
  ['WAL bytes', ({ wal_bytes }) => wal_bytes],
  ['peak MiB', ({ peak_mib }) => peak_mib],
  ['rounds ±', ({ spreads }) => halves(spreads)],
]

/** Table of figures, and one of the measured costs. */
export function reportOf(lines: readonly Line[]): string {
  const costs = lines.flatMap(({ name, cost }) => (cost ? [{ name, ...cost }] : []))
  return costs.length === 0 ? aligned(COLUMNS, lines) : `${aligned(COLUMNS, lines)}\n\n${aligned(COST_COLUMNS, costs)}`
}

function aligned<T>(columns: readonly Column<T>[], rows: readonly T[]): string {
  const cells = columns.map(([title, cell]) => {
    const values = rows.map(cell)
    const texts = [title, ...values.map((value) => (typeof value === 'number' ? figure(value) : value))]
    const width = Math.max(...texts.map(({ length }) => length))
    const isNumber = values.some((value) => typeof value === 'number')
    return texts.map((text) => (isNumber ? text.padStart(width) : text.padEnd(width)))
  })
  const line = (row: number) =>
    cells
      .map((column) => column[row])
      .join('  ')
      .trimEnd()
  return [...rows.keys(), rows.length].map(line).join('\n')
}

/** Distance of the rounds from their middle. */
const halves = (spreads: readonly number[]): string => spreads.map((each) => `${Math.round(each * 50)} %`).join(', ')

function verdict({ ratio, target, isHigherBetter }: Line): string {
  if (ratio === null || target === null) return ''
  return (isHigherBetter ? ratio >= target : ratio <= target) ? 'met' : 'MISSED'
}

/** Figures below ten need decimals. */
const figure = (value: number): string =>
  value < 10 && !Number.isInteger(value) ? value.toFixed(2) : Math.round(value).toLocaleString('en-US')

import { type Counts, startCounting } from './cost/counts.ts'
import { type Addresses, vacuum, walOf } from './database.ts'
import { meterOf, type ProcessorTime } from './processor.ts'
import { lowerQuartile, median, spread, WARM_UP_ROUNDS } from './rounds.ts'

/** Of a sale, a page, a delivery …, whatever the rate at which they were made. */
export interface Cost extends ProcessorTime, Counts {
  readonly per: string
  /** Written to the log of Postgres, pages that a checkpoint made it repeat among them. */
  readonly wal_bytes: number
}

/** A cost with what only the table shows. */
export interface CostLine extends Cost {
  /** How far the rounds lie apart: of the service's processor time and of Postgres's. */
  readonly spreads: readonly number[]
}

/** Something that counts what it does: a server, or this process. */
export interface Counting {
  readonly pid: number
  counts(): Promise<Counts>
}

/** This process, from now on. It counts nothing twice: to be called once. */
export function countOwn(databaseUrl: string): Counting {
  const counts = startCounting(Number(new URL(databaseUrl).port))
  return { pid: process.pid, counts: async () => counts() }
}

/** Runs `work` and tells what it took; null where processor time cannot be told. */
export type Gauge = <T>(work: () => Promise<T>) => Promise<{ readonly value: T; readonly spent: Spent | null }>

export async function gaugeOf(counting: Counting, databaseUrl: string): Promise<Gauge> {
  const meter = await meterOf([counting], [databaseUrl])
  return async (work) => {
    if (!meter) return { value: await work(), spent: null }
    const before = { wal: await walOf(databaseUrl), counts: await counting.counts() }
    const { value, ...time } = await meter.measure(work)
    const wal_bytes = (await walOf(databaseUrl)) - before.wal
    return { value, spent: { ...time, wal_bytes, ...grown(before.counts, await counting.counts()) } }
  }
}

/** Prices what a server does, round by round; when it has warmed up, Postgres gets to know what the tables have become. */
export interface Costing {
  /** Runs a round, which tells how many there were. */
  round<T>(work: () => Promise<T>, countOf: (value: T) => number): Promise<T>
  /** Of the rounds after the warm-up; null where nothing can be told, or nothing was done. */
  cost(): CostLine | null
}

/** @param per - what is counted, like `sale` */
export async function costingOf(counting: Counting, database: Addresses, per: string): Promise<Costing> {
  const gauge = await gaugeOf(counting, database.url)
  const rounds: Cost[] = []
  return {
    async round(work, countOf) {
      if (rounds.length === WARM_UP_ROUNDS) await vacuum(database)
      const { value, spent } = await gauge(work)
      if (spent) rounds.push(costOf(per, countOf(value), spent))
      return value
    },
    cost: () => middleOf(per, rounds.slice(WARM_UP_ROUNDS)),
  }
}

const FIGURES = [
  'service_us',
  'postgres_us',
  'round_trips',
  'statements',
  'postgres_writes',
  'other_writes',
  'wal_bytes',
  'allocated_bytes',
] as const satisfies readonly Exclude<keyof Cost, 'per'>[]

export type Spent = Omit<Cost, 'per'>

/** What each of `count` took of all that was spent. */
export function costOf(per: string, count: number, spent: Spent): Cost {
  return { per, ...eachOf((figure) => spent[figure] / count) }
}

export function grown(before: Counts, after: Counts): Counts {
  const names = Object.keys(before) as (keyof Counts)[]
  return Object.fromEntries(names.map((name) => [name, after[name] - before[name]])) as unknown as Counts
}

/**
 * Of processor time the lower quartile of the rounds: whatever else the machine does adds to it, and never takes away.
 * Of all else the median.
 */
export function middleOf(per: string, rounds: readonly Cost[]): CostLine | null {
  if (rounds.length === 0) return null
  const valuesOf = (figure: keyof Spent) => rounds.map((round) => round[figure])
  const spreads = TIMES.map((figure) => spread(valuesOf(figure)))
  const middle = (figure: keyof Spent) => (TIMES.includes(figure) ? lowerQuartile : median)(valuesOf(figure))
  return { per, ...eachOf((figure) => round3(middle(figure))), spreads }
}

const TIMES: readonly (keyof Spent)[] = ['service_us', 'postgres_us']

const eachOf = (value: (figure: keyof Spent) => number): Spent =>
  Object.fromEntries(FIGURES.map((figure) => [figure, value(figure)])) as unknown as Spent

const round3 = (value: number): number => Math.round(value * 1_000) / 1_000

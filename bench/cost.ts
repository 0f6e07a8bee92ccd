import { type Counts, startCounting } from './cost/counts.ts'
import { type Addresses, vacuum, walOf } from './database.ts'
import { forgetPeak, meterOf, type ProcessorTime, peakOf } from './processor.ts'
import { lowerQuartile, median, spread, WARM_UP_ROUNDS } from './rounds.ts'

/** Cost of a sale, page, delivery …, at any rate; memory and the event loop's delay are of the process. */
export interface Cost extends ProcessorTime, Counts {
  readonly per: string
  /** Bytes of write-ahead log, including full pages after a checkpoint. */
  readonly wal_bytes: number
  /** Peak memory of the process; not divided by the count. */
  readonly peak_mib: number
}

/** Cost with fields for the table only. */
export interface CostLine extends Cost {
  /** Spread of the rounds: of the processor time of service and Postgres. */
  readonly spreads: readonly number[]
}

/** Counting process: a server, or this process. */
export interface Counting {
  readonly pid: number
  counts(): Promise<Counts>
}

/** Counts this process from now on. Call it once. */
export function countOwn(databaseUrl: string): Counting {
  const counts = startCounting(Number(new URL(databaseUrl).port))
  return { pid: process.pid, counts: async () => counts() }
}

/** Runs `work` and measures it; null if processor time is not available. */
export type Gauge = <T>(work: () => Promise<T>) => Promise<{ readonly value: T; readonly spent: Spent | null }>

export async function gaugeOf(counting: Counting, databaseUrl: string): Promise<Gauge> {
  const meter = await meterOf([counting], [databaseUrl])
  return async (work) => {
    if (!meter) return { value: await work(), spent: null }
    const before = { wal: await walOf(databaseUrl), counts: await counting.counts() }
    forgetPeak(counting.pid)
    const { value, ...time } = await meter.measure(work)
    const peak_mib = peakOf(counting.pid)
    const wal_bytes = (await walOf(databaseUrl)) - before.wal
    return { value, spent: { ...time, wal_bytes, peak_mib, ...grown(before.counts, await counting.counts()) } }
  }
}

/** Measures the costs of a server by rounds; after the warm-up Postgres analyzes the tables. */
export interface Costing {
  /** Runs a round; `countOf` returns its number of operations. */
  round<T>(work: () => Promise<T>, countOf: (value: T) => number): Promise<T>
  /** Cost over the rounds after the warm-up; null without measurements or operations. */
  cost(): CostLine | null
}

/** @param per - counted operation, like `sale` */
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
] as const satisfies readonly Exclude<keyof Cost, 'per' | 'peak_mib' | 'loop_p99_ms'>[]
type Figure = (typeof FIGURES)[number]

export type Spent = Omit<Cost, 'per'>

/** Cost per operation. */
export function costOf(per: string, count: number, spent: Spent): Cost {
  const { peak_mib, loop_p99_ms } = spent
  return { per, ...eachOf((figure) => spent[figure] / count), peak_mib, loop_p99_ms }
}

/** What counters grew by; the delay of the event loop as it is. */
export function grown(before: Counts, { loop_p99_ms, ...after }: Counts): Counts {
  const names = Object.keys(after) as (keyof typeof after)[]
  const differences = Object.fromEntries(names.map((name) => [name, after[name] - before[name]]))
  return { ...(differences as unknown as typeof after), loop_p99_ms }
}

/**
 * Processor time: the lower quartile of the rounds, because other load only adds to it. Memory: the maximum. All else:
 * the median.
 */
export function middleOf(per: string, rounds: readonly Cost[]): CostLine | null {
  if (rounds.length === 0) return null
  const valuesOf = (figure: Figure) => rounds.map((round) => round[figure])
  const spreads = TIMES.map((figure) => spread(valuesOf(figure)))
  const middle = (figure: Figure) => (TIMES.includes(figure) ? lowerQuartile : median)(valuesOf(figure))
  const peak_mib = Math.max(...rounds.map((round) => round.peak_mib))
  const loop_p99_ms = round3(median(rounds.map((round) => round.loop_p99_ms)))
  return { per, ...eachOf((figure) => round3(middle(figure))), peak_mib, loop_p99_ms, spreads }
}

const TIMES: readonly Figure[] = ['service_us', 'postgres_us']

const eachOf = (value: (figure: Figure) => number): Record<Figure, number> =>
  Object.fromEntries(FIGURES.map((figure) => [figure, value(figure)])) as Record<Figure, number>

const round3 = (value: number): number => Math.round(value * 1_000) / 1_000

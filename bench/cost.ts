import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { countRoundTrips } from './counts.ts'
import { type Addresses, administer, vacuum, walOf } from './database.ts'
import { median, percentile, spread, WARM_UP_ROUNDS } from './rounds.ts'

/** Microseconds of processor time. */
export interface ProcessorTime {
  readonly service_us: number
  readonly postgres_us: number
}

/** Costs of some work, and the memory of its process. */
export interface Spent extends ProcessorTime {
  readonly round_trips: number
  /** Bytes of write-ahead log, including full pages after a checkpoint. */
  readonly wal_bytes: number
  /** Peak memory of the process. */
  readonly peak_mib: number
}

/** Cost of a sale, page, delivery …, at any rate; memory is not divided by their count. */
export interface Cost extends Spent {
  readonly per: string
  /** Spread of the rounds: of the processor time of service and Postgres. */
  readonly spreads: readonly number[]
}

/** Unit of Linux for ended processes: hundredths of a second. */
const TICK_US = 10_000

/** Runs `work` and returns its processor time, independent of other load. */
export type Meter = <T>(work: () => Promise<T>) => Promise<{ readonly value: T } & ProcessorTime>

/** Meter for a process and its Postgres server on this Linux; null if their processor time is not available. */
export async function meterOf({ pid }: { readonly pid: number }, databaseUrl: string): Promise<Meter | null> {
  const postmaster = await postmasterOf(databaseUrl)
  if (postmaster === null) return null
  const now = () => [ofTree(pid, postmaster), ofTree(postmaster)] as const
  return async (work) => {
    const before = now()
    const value = await work()
    const after = now()
    return { value, service_us: after[0] - before[0], postgres_us: after[1] - before[1] }
  }
}

/** Process id of the postmaster, if it runs on this machine. */
async function postmasterOf(url: string): Promise<number | null> {
  return administer(url, async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const backend = statOf((rows[0] as { pid: number }).pid)
    return backend?.name.startsWith('postgres') ? backend.parent : null
  })
}

/** Processor time of a process and its children (except one), ended ones included. */
function ofTree(pid: number, except?: number): number {
  const own = statOf(pid)
  if (!own) throw new Error(`process ${pid} is gone`)
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== except)
    .map((name) => statOf(Number(name)))
    .filter((stat) => stat?.parent === pid)
  return own.own_us + own.ended_us + sum(children.map((stat) => stat?.own_us ?? 0))
}

interface Stat {
  readonly name: string
  readonly parent: number
  /** Of all live threads, in nanosecond resolution. */
  readonly own_us: number
  /** Ended children. */
  readonly ended_us: number
}

/** Parses /proc/<pid>/stat; null without such a process. */
function statOf(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const end = text.lastIndexOf(')')
    // Fields from the state on, number 3 in proc(5).
    const fields = text.slice(end + 2).split(' ')
    const field = (number: number) => Number(fields[number - 3])
    const times = readdirSync(`/proc/${pid}/task`).map((thread) =>
      Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0]),
    )
    return {
      name: text.slice(text.indexOf('(') + 1, end),
      parent: field(4),
      own_us: sum(times) / 1_000,
      ended_us: (field(16) + field(17)) * TICK_US,
    }
  } catch {
    return null
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0)

/** Resets the peak memory of a process to its current memory. */
const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5')

/** Peak memory of a process, in MiB. */
function peakOf(pid: number): number {
  const [, kibibytes = ''] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? []
  return Math.round(Number(kibibytes) / 1_024)
}

/** Counting process: a server, or this process. */
export interface Counting {
  readonly pid: number
  roundTrips(): Promise<number>
}

/** Counts this process from now on. Call it once. */
export function countOwn(databaseUrl: string): Counting {
  const count = countRoundTrips(Number(new URL(databaseUrl).port))
  return { pid: process.pid, roundTrips: async () => count() }
}

/** Runs `work` and measures it; null if processor time is not available. */
export type Gauge = <T>(work: () => Promise<T>) => Promise<{ readonly value: T; readonly spent: Spent | null }>

export async function gaugeOf(counting: Counting, databaseUrl: string): Promise<Gauge> {
  const meter = await meterOf(counting, databaseUrl)
  return async (work) => {
    if (!meter) return { value: await work(), spent: null }
    const [wal, sent] = [await walOf(databaseUrl), await counting.roundTrips()]
    forgetPeak(counting.pid)
    const { value, ...time } = await meter(work)
    const peak_mib = peakOf(counting.pid)
    const round_trips = (await counting.roundTrips()) - sent
    return { value, spent: { ...time, round_trips, wal_bytes: (await walOf(databaseUrl)) - wal, peak_mib } }
  }
}

/** Measures the costs of a server by rounds; after the warm-up Postgres analyzes the tables. */
export interface Costing {
  /** Runs a round; `countOf` returns its number of operations. */
  round<T>(work: () => Promise<T>, countOf: (value: T) => number): Promise<T>
  /** Cost over the rounds after the warm-up; null without measurements or operations. */
  cost(): Cost | null
}

/** @param per - counted operation, like `sale` */
export async function costingOf(counting: Counting, database: Addresses, per: string): Promise<Costing> {
  const gauge = await gaugeOf(counting, database.url)
  const rounds: Spent[] = []
  return {
    async round(work, countOf) {
      if (rounds.length === WARM_UP_ROUNDS) await vacuum(database)
      const { value, spent } = await gauge(work)
      if (spent) rounds.push(perOperation(countOf(value), spent))
      return value
    },
    cost: () => costOf(per, rounds.slice(WARM_UP_ROUNDS)),
  }
}

const TIMES = ['service_us', 'postgres_us'] as const
const FIGURES = [...TIMES, 'round_trips', 'wal_bytes'] as const
type Figure = (typeof FIGURES)[number]

const eachOf = (value: (figure: Figure) => number): Record<Figure, number> =>
  Object.fromEntries(FIGURES.map((figure) => [figure, value(figure)])) as Record<Figure, number>

/** Cost per operation of one round. */
export const perOperation = (count: number, spent: Spent): Spent => ({
  ...eachOf((figure) => spent[figure] / count),
  peak_mib: spent.peak_mib,
})

/**
 * Cost over rounds. Processor time: the lower quartile, because other load only adds to it. Memory: the maximum. All
 * else: the median.
 */
export function costOf(per: string, rounds: readonly Spent[]): Cost | null {
  if (rounds.length === 0) return null
  const valuesOf = (figure: Figure) => rounds.map((round) => round[figure])
  const isTime = (figure: Figure) => (TIMES as readonly Figure[]).includes(figure)
  return {
    per,
    ...eachOf((figure) => (isTime(figure) ? percentile(valuesOf(figure), 0.25) : median(valuesOf(figure)))),
    peak_mib: Math.max(...rounds.map((round) => round.peak_mib)),
    spreads: TIMES.map((figure) => spread(valuesOf(figure))),
  }
}

import {
  CALLED,
  callsADay,
  type Habits,
  KINDS,
  type Kind,
  MINUTES_A_DAY,
  meanOf,
  type PerKind,
  perKind,
  type Size,
  shareOfMinute,
} from './workload.ts'

/** What a number of companies needs, from what calls were measured to cost. Pure. */

/** Microseconds of processor time. */
export interface Time {
  readonly service_us: number
  readonly postgres_us: number
}

/** One call, or delivery, of a kind; a call alone pays for its statements alone, those under way together share them. */
export interface Cost {
  readonly alone: Time
  /** Of a call among `crowd` that are under way at once. */
  readonly crowded: Time
  readonly crowd: number
  /** How long one takes that is alone. */
  readonly alone_ms: number
}

export interface Measured {
  /** When, and on what. */
  readonly of: string
  readonly costs: PerKind<Cost>
  /** In a second in which nobody calls, for each process and shard. */
  readonly idle: Time
  /** Of a sale with its indexes: ledger and read model, which stay. */
  readonly bytesASale: number
  /** Of a sale in `ops`, for a day (answers) to a month (deliveries). */
  readonly passingBytesASale: number
  readonly walBytesASale: number
}

/** Editable; docs/scale.md gives the reasons. */
export interface Assumptions {
  /** Of a machine's processor in the busiest minute; the rest is for rebuilds, backups, and a process that dies. */
  readonly utilisation: number
  /** Of a machine that Postgres of a shard runs on. */
  readonly coresOfShard: number
  /** Of a machine with service processes, each of which uses one core. */
  readonly coresOfServices: number
  readonly processesAtLeast: number
  /** That a process may hold to the Postgres of a shard. */
  readonly connections: number
  /** Servers of a shard: a primary and its replicas. */
  readonly serversOfShard: number
  /** Ledgers are never deleted: room for so many days, in the primary and each standby. */
  readonly days: number
  /** Archived write-ahead log, for restores to a moment. */
  readonly walDays: number
  /** A day's sales, of those of the last day of a month. */
  readonly usualDay: number
  /** How much faster than the one measured on a core is. */
  readonly coreSpeed: number
  readonly prices: Prices
}

/** US$ a month, as of a date. */
export interface Prices {
  readonly asOf: string
  readonly core: number
  readonly gigabyteOfDisk: number
  readonly gigabyteOfArchive: number
}

export interface Plan {
  readonly salesADay: number
  /** In the busiest minute. */
  readonly callsASecond: number
  readonly busiest: string
  readonly serviceCores: number
  readonly postgresCores: number
  readonly processes: number
  readonly shards: number
  readonly machines: number
  /** At each shard's Postgres. */
  readonly connections: number
  readonly diskGigabytes: number
  readonly walGigabytesADay: number
  readonly dollarsAMonth: number
}

/** Cost of a call of which so many come in a second: the more are under way at once, the more share a statement. */
export function costAt({ alone, crowded, crowd, alone_ms }: Cost, perSecond: number): Time {
  // Of cost = own + shared / n, measured at n = 1 and n = crowd.
  const together = Math.min(crowd, Math.max(1, (perSecond * alone_ms) / 1_000))
  const weight = crowd === 1 ? 1 : (1 / together - 1 / crowd) / (1 - 1 / crowd)
  const between = (of: (time: Time) => number) => of(crowded) + Math.max(0, of(alone) - of(crowded)) * weight
  return { service_us: between((time) => time.service_us), postgres_us: between((time) => time.postgres_us) }
}

/** Over what calls are spread. */
export interface Spread {
  readonly shards: number
  readonly processes: number
}

/** Processor time in a second of calls that come at these rates, per second. */
export function timeOf(measured: Measured, perSecond: PerKind<number>, { shards, processes }: Spread): Time {
  let service_us = measured.idle.service_us * shards * processes
  let postgres_us = measured.idle.postgres_us * shards * processes
  for (const kind of KINDS) {
    // A group, and what calls share, is of one process and one shard.
    const cost = costAt(measured.costs[kind], perSecond[kind] / shards / processes)
    service_us += cost.service_us * perSecond[kind]
    postgres_us += cost.postgres_us * perSecond[kind]
  }
  return { service_us, postgres_us }
}

/** Calls a second of each kind, of so many companies, in a minute of the day. */
export function ratesAt(
  companies: number,
  { sizes, habits }: { readonly sizes: readonly Size[]; readonly habits: Habits },
  minute: number,
): PerKind<number> {
  return perKind((kind) => (callsOf(companies, sizes, habits, kind) * shareOfMinute(kind, minute)) / 60)
}

/** Calls of a kind on a day. */
const callsOf = (companies: number, sizes: readonly Size[], habits: Habits, kind: Kind): number =>
  companies * meanOf(sizes, (size) => callsADay(size, habits)[kind])

/** What `companies` need, sized for the busiest minute of the last day of a month. */
export function plan(
  companies: number,
  workload: { readonly sizes: readonly Size[]; readonly habits: Habits },
  measured: Measured,
  assumptions: Assumptions,
): Plan {
  const { utilisation, coreSpeed, coresOfShard, coresOfServices, prices } = assumptions
  const busiest = busiestMinute(companies, workload, measured)
  const rates = ratesAt(companies, workload, busiest)
  const coresOf = (spread: Spread) => {
    const time = timeOf(measured, rates, spread)
    const cores = (us: number) => us / 1_000_000 / utilisation / coreSpeed
    return { service: cores(time.service_us), postgres: cores(time.postgres_us) }
  }
  const spread = { shards: 1, processes: assumptions.processesAtLeast }
  for (;;) {
    const needed = coresOf(spread)
    if (needed.service > spread.processes) spread.processes = Math.max(spread.processes + 1, Math.floor(needed.service))
    else if (needed.postgres > spread.shards * coresOfShard) spread.shards += 1
    else break
  }
  const { shards, processes } = spread
  const cores = coresOf(spread)
  const salesADay = companies * meanOf(workload.sizes, (size) => size.salesADay)
  const keptSales = salesADay * assumptions.usualDay * assumptions.days
  const servers = shards * assumptions.serversOfShard
  const serviceMachines = Math.max(2, Math.ceil(processes / coresOfServices))
  const diskGigabytes = (keptSales * measured.bytesASale + salesADay * 30 * measured.passingBytesASale) / GIGABYTE
  const walGigabytesADay = (salesADay * measured.walBytesASale) / GIGABYTE
  return {
    salesADay,
    callsASecond: CALLED.reduce((sum, kind) => sum + rates[kind], 0),
    busiest: `${String(Math.floor(busiest / 60)).padStart(2, '0')}:${String(busiest % 60).padStart(2, '0')}`,
    serviceCores: cores.service,
    postgresCores: cores.postgres,
    processes,
    shards,
    machines: servers + serviceMachines,
    connections: processes * assumptions.connections,
    diskGigabytes,
    walGigabytesADay,
    dollarsAMonth:
      (servers * coresOfShard + serviceMachines * coresOfServices) * prices.core +
      diskGigabytes * assumptions.serversOfShard * prices.gigabyteOfDisk +
      walGigabytesADay * assumptions.walDays * prices.gigabyteOfArchive,
  }
}

const GIGABYTE = 1_000_000_000

function busiestMinute(
  companies: number,
  workload: { readonly sizes: readonly Size[]; readonly habits: Habits },
  measured: Measured,
): number {
  const needed = (minute: number) => {
    const { service_us, postgres_us } = timeOf(measured, ratesAt(companies, workload, minute), {
      shards: 1,
      processes: 1,
    })
    return service_us + postgres_us
  }
  return Array.from({ length: MINUTES_A_DAY }, (_, minute) => minute).reduce((best, minute) =>
    needed(minute) > needed(best) ? minute : best,
  )
}

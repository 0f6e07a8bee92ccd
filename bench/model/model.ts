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

/** Resources required by a number of companies, from the measured costs of calls. Pure. */

/** Microseconds of processor time. */
export interface Time {
  readonly service_us: number
  readonly postgres_us: number
}

/** One call or delivery of a kind; a call alone pays for its statements, concurrent ones share them. */
export interface Cost {
  readonly alone: Time
  /** Cost per call among `crowd` concurrent ones. */
  readonly crowded: Time
  readonly crowd: number
  /** Duration of a call alone. */
  readonly alone_ms: number
}

export interface Measured {
  /** Date and machine of the measurement. */
  readonly of: string
  readonly costs: PerKind<Cost>
  /** Cost of an idle second, for each process and shard. */
  readonly idle: Time
  /** Permanent bytes of a sale with its indexes: ledger and read model. */
  readonly bytesASale: number
  /** Temporary bytes of a sale in `ops`, kept from a day (answers) to a month (deliveries). */
  readonly passingBytesASale: number
  readonly walBytesASale: number
}

/** Editable; docs/scale.md gives the reasons. */
export interface Assumptions {
  /** Highest share of a machine's processor in the busiest minute; the rest is for rebuilds, backups and failover. */
  readonly utilisation: number
  /** Cores of a machine for the Postgres of a shard. */
  readonly coresOfShard: number
  /** Cores of a machine for service processes, each of which uses one core. */
  readonly coresOfServices: number
  readonly processesAtLeast: number
  /** Connections of a process to the Postgres of a shard. */
  readonly connections: number
  /** Servers of a shard: a primary and its replicas. */
  readonly serversOfShard: number
  /** Days of ledgers to store, in the primary and each replica; ledgers are never deleted. */
  readonly days: number
  /** Days of archived write-ahead log, for point-in-time restores. */
  readonly walDays: number
  /** Sales of a usual day, relative to the last day of a month. */
  readonly usualDay: number
  /** Speed of a core, relative to the measured one. */
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
  /** Per shard. */
  readonly connections: number
  readonly diskGigabytes: number
  readonly walGigabytesADay: number
  readonly dollarsAMonth: number
}

/** Cost of a call at a rate: the more are concurrent, the more share a statement. */
export function costAt({ alone, crowded, crowd, alone_ms }: Cost, perSecond: number): Time {
  // cost = own + shared / n, measured at n = 1 and n = crowd.
  const together = Math.min(crowd, Math.max(1, (perSecond * alone_ms) / 1_000))
  const weight = crowd === 1 ? 1 : (1 / together - 1 / crowd) / (1 - 1 / crowd)
  const between = (of: (time: Time) => number) => of(crowded) + Math.max(0, of(alone) - of(crowded)) * weight
  return { service_us: between((time) => time.service_us), postgres_us: between((time) => time.postgres_us) }
}

/** Number of shards and processes that share the calls. */
export interface Spread {
  readonly shards: number
  readonly processes: number
}

/** Processor time per second of calls at these rates (per second). */
export function timeOf(measured: Measured, perSecond: PerKind<number>, { shards, processes }: Spread): Time {
  let service_us = measured.idle.service_us * shards * processes
  let postgres_us = measured.idle.postgres_us * shards * processes
  for (const kind of KINDS) {
    // Groups form within one process and one shard.
    const cost = costAt(measured.costs[kind], perSecond[kind] / shards / processes)
    service_us += cost.service_us * perSecond[kind]
    postgres_us += cost.postgres_us * perSecond[kind]
  }
  return { service_us, postgres_us }
}

/** Calls per second of each kind, for a number of companies, in a minute of the day. */
export function ratesAt(
  companies: number,
  { sizes, habits }: { readonly sizes: readonly Size[]; readonly habits: Habits },
  minute: number,
): PerKind<number> {
  return perKind((kind) => (callsOf(companies, sizes, habits, kind) * shareOfMinute(kind, minute)) / 60)
}

/** Calls of a kind per day. */
const callsOf = (companies: number, sizes: readonly Size[], habits: Habits, kind: Kind): number =>
  companies * meanOf(sizes, (size) => callsADay(size, habits)[kind])

/** Resources for `companies`, sized for the busiest minute of the last day of a month. */
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

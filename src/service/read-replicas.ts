import type { Pool } from 'pg'
import type { Config } from '#config/config.ts'
import { DEFAULT_SHARD } from '#config/databases.ts'
import type { EventStore } from '#ledger/port.ts'
import type { ReadModel } from '#ledger/projection.ts'
import { createReadRouter, type OpenReadSession, type ReadFrom, readFromPrimary } from '#ledger/replicas/reads.ts'
import { createReplica, type Replica } from '#ledger/replicas/replica.ts'
import { monitorReplicas } from '#ledger/replicas/replica-monitor.ts'
import { createKeyedSemaphore, type SemaphoreLimits } from '#lib/keyed-semaphore.ts'
import { createPool, type PoolOptions } from '#postgres/pool.ts'
import type { PoolOf } from '#postgres/shared-pool.ts'
import type { Metrics } from '#service/metrics/metrics.ts'

export interface ReplicaOptions {
  /** Servers that follow that of the database, each a URL of one host. */
  readonly readUrls?: readonly string[]
  /** Milliseconds by which they may be behind. */
  readonly readMaxLagMs?: number
  /** Hears of each answer that might be read from a standby where it was read. */
  readonly onRead?: (from: ReadFrom) => void
}

/** What settings say of it: of the service, since commands are short. */
export const replicaSettings = (config: Config, { onRead }: Pick<Metrics, 'onRead'>): ReplicaOptions => ({
  readUrls: config.READ_URLS?.[DEFAULT_SHARD] ?? [],
  readMaxLagMs: config.READ_MAX_LAG_MS,
  onRead,
})

interface Reading extends ReplicaOptions {
  /** The primary. */
  readonly pool: Pool
  readonly poolOf: PoolOf
  readonly store: EventStore
  readonly model: ReadModel
  /** What connections have in common. */
  readonly sessions: Partial<PoolOptions>
  /** Connections for queries, to each standby. */
  readonly connections: number
  readonly turnsOf: (connections: number) => SemaphoreLimits
  readonly log: (message: string, error: unknown) => void
}

/** What others see of a standby. */
export type MeasuredReplica = Pick<Replica, 'name' | 'state' | 'lag_ms' | 'shared' | 'figures'>

interface OpenReads {
  readonly readsOf: OpenReadSession
  readonly standbys: readonly Replica[]
  leave(): Promise<void>
}

const READ_MAX_LAG_MS = 5_000
/** A standby that says nothing for so long is away: the primary is there. */
const ANSWERS_MS = 1_000

/** Where reads go that need not go to the primary; without standbys nothing is opened, and all go there. */
export function openReads(reading: Reading): OpenReads {
  const { readUrls = [], readMaxLagMs: maxLagMs = READ_MAX_LAG_MS, onRead = () => {} } = reading
  if (readUrls.length === 0)
    return { readsOf: readFromPrimary(reading.poolOf, reading.store), standbys: [], leave: async () => {} }
  const standbys = readUrls.map((url, place) => standbyAt(url, String(place + 1), reading))
  const watch = monitorReplicas({ ...reading, standbys, maxLagMs })
  return {
    readsOf: createReadRouter({ ...reading, standbys, onRead }),
    standbys,
    async leave() {
      await watch.stop()
      await Promise.all(standbys.map((standby) => standby.close()))
    },
  }
}

function standbyAt(url: string, name: string, { sessions, connections, turnsOf }: Reading): Replica {
  const known = { ...sessions, connect_timeout_ms: ANSWERS_MS }
  return createReplica({
    name,
    openPool: () => createPool(url, { ...known, max: connections, pipeline: true }),
    watch: createPool(url, { ...known, max: 1, statement_timeout_ms: ANSWERS_MS, keyLookupsOnly: true }),
    turns: createKeyedSemaphore(turnsOf(connections)),
  })
}

type Counting = Pick<Metrics, 'watchPool' | 'watchShared' | 'gauges'>

/** Their figures from now on; without standbys there are none. */
export function measureReplicas(metrics: Counting, standbys: readonly MeasuredReplica[]): void {
  if (standbys.length === 0) return
  for (const { name, figures, shared } of standbys) {
    metrics.watchPool(`standby_${name}`, figures)
    metrics.watchShared(`standby_${name}`, shared)
  }
  metrics.gauges('tillbook_standby_up', '1 for a standby that is read from, else 0', 'standby', async () => {
    return new Map(standbys.map(({ name, state }) => [name, Number(state === 'up')]))
  })
  metrics.gauges('tillbook_standby_lag_seconds', 'How far a standby is behind', 'standby', async () => {
    return new Map(standbys.flatMap(({ name, lag_ms }) => (lag_ms === null ? [] : [[name, lag_ms / 1000] as const])))
  })
}

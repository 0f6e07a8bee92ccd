import type { Pool } from 'pg'
import type { Config } from '#config/config.ts'
import type { EventStore } from '#ledger/port.ts'
import type { ReadModel } from '#ledger/projection.ts'
import {
  createReadRouter,
  createReplica,
  monitorReplicas,
  type OpenReadSession,
  type ReadFrom,
  type Replica,
  readFromPrimary,
} from '#ledger/replicas/replicas.ts'
import { createKeyedSemaphore, type SemaphoreLimits } from '#lib/fair-sharing.ts'
import { createPool, type PoolOf, type PoolOptions } from '#postgres/pool.ts'
import type { Metrics } from './metrics.ts'

export interface ReplicaOptions {
  /** Read replicas of the database, each a URL with one host. */
  readonly readUrls?: readonly string[]
  /** Allowed replication lag, in milliseconds. */
  readonly readMaxLagMs?: number
  /** Called for each answer that a read replica may give, with the server that gave it. */
  readonly onRead?: (from: ReadFrom) => void
}

/** Replica options of the service. Commands are short and use none. */
export const replicaSettings = (config: Config, { onRead }: Pick<Metrics, 'onRead'>): ReplicaOptions => ({
  readUrls: config.READ_URLS ?? [],
  readMaxLagMs: config.READ_MAX_LAG_MS,
  onRead,
})

interface Reading extends ReplicaOptions {
  /** The primary. */
  readonly pool: Pool
  readonly poolOf: PoolOf
  readonly store: EventStore
  readonly model: ReadModel
  /** Options shared by all connections. */
  readonly sessions: Partial<PoolOptions>
  /** Query connections per replica. */
  readonly connections: number
  readonly turnsOf: (connections: number) => SemaphoreLimits
  readonly log: (message: string, error: unknown) => void
}

/** Public view of a read replica. */
export type MeasuredReplica = Pick<Replica, 'name' | 'state' | 'lag_ms' | 'shared' | 'figures'>

interface OpenReads {
  readonly readsOf: OpenReadSession
  readonly replicas: readonly Replica[]
  leave(): Promise<void>
}

const READ_MAX_LAG_MS = 5_000
/** A replica without an answer for this time counts as down; the primary takes over. */
const ANSWERS_MS = 1_000

/** Opens the read replicas. Without any, all reads go to the primary. */
export function openReads(reading: Reading): OpenReads {
  const { readUrls = [], readMaxLagMs: maxLagMs = READ_MAX_LAG_MS, onRead = () => {} } = reading
  if (readUrls.length === 0)
    return { readsOf: readFromPrimary(reading.poolOf, reading.store), replicas: [], leave: async () => {} }
  const replicas = readUrls.map((url, place) => replicaAt(url, String(place + 1), reading))
  const watch = monitorReplicas({ ...reading, replicas, maxLagMs })
  return {
    readsOf: createReadRouter({ ...reading, replicas, onRead }),
    replicas,
    async leave() {
      await watch.stop()
      await Promise.all(replicas.map((replica) => replica.close()))
    },
  }
}

function replicaAt(url: string, name: string, { sessions, connections, turnsOf }: Reading): Replica {
  const known = { ...sessions, connect_timeout_ms: ANSWERS_MS }
  return createReplica({
    name,
    openPool: () => createPool(url, { ...known, max: connections, pipeline: true }),
    watch: createPool(url, { ...known, max: 1, statement_timeout_ms: ANSWERS_MS, keyLookupsOnly: true }),
    turns: createKeyedSemaphore(turnsOf(connections)),
  })
}

type Counting = Pick<Metrics, 'watchPool' | 'watchShared' | 'gauges'>

/** Exports metrics of the read replicas. */
export function measureReplicas(metrics: Counting, replicas: readonly MeasuredReplica[]): void {
  if (replicas.length === 0) return
  for (const { name, figures, shared } of replicas) {
    metrics.watchPool(`replica_${name}`, figures)
    metrics.watchShared(`replica_${name}`, shared)
  }
  metrics.gauges('tillbook_replica_up', '1 for a replica that is read from, else 0', 'replica', async () => {
    return new Map(replicas.map(({ name, state }) => [name, Number(state === 'up')]))
  })
  metrics.gauges('tillbook_replica_lag_seconds', 'How far a replica is behind', 'replica', async () => {
    return new Map(replicas.flatMap(({ name, lag_ms }) => (lag_ms === null ? [] : [[name, lag_ms / 1000] as const])))
  })
}

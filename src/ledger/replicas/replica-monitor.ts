import type { Pool } from 'pg'
import { repeat } from '#background/repeat.ts'
import type { ReadModel } from '../projection.ts'
import { type PrimaryProgress, replicaLag } from './lag.ts'
import type { Replica, ReplicaProbe, ReplicaState } from './replica.ts'

/** Interval between probes of the replicas. */
const LOOK_MS = 1_000

interface Watching {
  /** Pool of the primary. */
  readonly pool: Pool
  readonly replicas: readonly Replica[]
  readonly model: Pick<ReadModel, 'version' | 'number'>
  readonly maxLagMs: number
  readonly log: (message: string, error: unknown) => void
}

interface Primary {
  readonly identity: string
  readonly bytes: number
  readonly now: string
}

const LOOK_AT_PRIMARY = {
  name: 'look_at_primary',
  text: `select s.system_identifier || '/' || d.oid as identity, (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint as bytes,
           clock_timestamp() as now
         from pg_control_system() s, pg_database d
         where d.datname = current_database()`,
}

/** Probes the primary and its replicas until stopped, and decides which replicas serve reads (READ-924). */
export function monitorReplicas({ pool, replicas, model, maxLagMs, log }: Watching): { stop(): Promise<void> } {
  const written: PrimaryProgress[] = []
  /** Replayed bytes of each replica at its last probe. */
  const came = new Map<Replica, number>()

  async function look(): Promise<void> {
    const [primary] = (await pool.query<Primary>(LOOK_AT_PRIMARY)).rows
    if (!primary) throw new Error('the primary has no name')
    const at_ms = performance.now()
    written.push({ at_ms, bytes: primary.bytes })
    while (written.length > 2 && at_ms - (written[0]?.at_ms ?? 0) > maxLagMs + 2 * LOOK_MS) written.shift()
    await Promise.all(replicas.map((replica) => judge(replica, primary, at_ms)))
  }

  async function judge(replica: Replica, primary: Primary, at_ms: number): Promise<void> {
    const former = replica.state
    const found = await replica.look().catch((error: unknown) => error as Error)
    if (found instanceof Error) return become(replica, former, 'down', null, found)
    const now_ms = performance.now()
    const age_ms =
      found.committed_at === null ? null : Date.parse(primary.now) - Date.parse(found.committed_at) + now_ms - at_ms
    const lag_ms = replicaLag(written, { bytes: found.bytes, commit_age_ms: age_ms }, now_ms)
    // A replica's log from an earlier probe must be contained in its primary's log.
    const isAhead = (came.get(replica) ?? 0) > primary.bytes
    came.set(replica, found.bytes)
    const state = isAhead ? 'other_database' : stateOf(found, primary)
    become(
      replica,
      former,
      state === 'up' && lag_ms > maxLagMs ? 'lagging' : state,
      Number.isFinite(lag_ms) ? lag_ms : null,
    )
  }

  function stateOf(found: ReplicaProbe, primary: Primary): ReplicaState {
    if (found.identity !== primary.identity) return 'other_database'
    if (!found.isStandby) return 'no_standby'
    // During an upgrade the tables of this version stay beside those of a newer one, as long as this process may read
    // them (OPS-37).
    const isOfMine = found.version === model.version || found.number > model.number
    return isOfMine ? 'up' : 'other_version'
  }

  function become(replica: Replica, former: ReplicaState, state: ReplicaState, lag_ms: number | null, error?: Error) {
    replica.become(state, lag_ms)
    if (state === former || state === 'up') return
    log(`replicas: ${replica.name} is not read from: ${state}`, error ?? new Error(state))
  }

  return repeat(look, LOOK_MS, (error) => log('replicas: comparison with the primary failed', error))
}

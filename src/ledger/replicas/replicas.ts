import type { Pool, QueryConfig, QueryResult, QueryResultRow } from 'pg'
import { coalesce, repeat } from '#lib/background-loops.ts'
import { type LogError, TenantLimitExceeded, Unavailable } from '#lib/errors.ts'
import type { KeyedSemaphore, LimiterFigures } from '#lib/fair-sharing.ts'
import type { Queryable } from '#postgres/database.ts'
import { type PoolOf, sharePool } from '#postgres/pool.ts'
import { type EventStore, isOutside } from '../port.ts'
import type { ReadModel } from '../projection.ts'
import type { TablesVersion } from '../rebuild/version.ts'
import { createPostgresStore } from '../stores/postgres-store.ts'

/** Length of a primary's write-ahead log (bytes since its beginning) at a time of this process's clock. */
interface PrimaryProgress {
  readonly at_ms: number
  readonly bytes: number
}

/** Progress of a replica: replayed bytes, and the last replayed commit. */
export interface ReplicaProgress {
  readonly bytes: number
  /** Age of the last replayed commit by the primary's clock; null if there is none. */
  readonly commit_age_ms: number | null
}

/**
 * Upper bound of a replica's lag in ms. An idle primary causes no lag: a replica with the complete log is up to date,
 * however old its last commit is. `written` is ordered by time.
 */
export function replicaLag(
  written: readonly PrimaryProgress[],
  { bytes, commit_age_ms }: ReplicaProgress,
  now_ms: number,
): number {
  if ((written.at(-1)?.bytes ?? Number.POSITIVE_INFINITY) <= bytes) return 0
  const level = written.findLast((sample) => sample.bytes <= bytes)
  const sinceLevel_ms = level ? now_ms - level.at_ms : Number.POSITIVE_INFINITY
  return Math.max(0, Math.min(sinceLevel_ms, commit_age_ms ?? Number.POSITIVE_INFINITY))
}

/**
 * `up`: serves reads. Otherwise the reason why not: not probed yet, unreachable, too far behind, not a replica (any
 * more), another database, or tables of another version.
 */
export type ReplicaState = 'up' | 'starting' | 'down' | 'lagging' | 'no_standby' | 'other_database' | 'other_version'

/** Status of a server at a probe. */
export interface ReplicaProbe extends Pick<TablesVersion, 'version' | 'number'> {
  readonly isStandby: boolean
  /** Identity of cluster and database: the same on a primary and its replicas. */
  readonly identity: string
  /** Bytes of the log that a replica has replayed or a primary has written. */
  readonly bytes: number
  /** Time of the last replayed commit (UTC); null if there is none. */
  readonly committed_at: string | null
}

/** Revision of a ledger and generation of the tables; undefined: any tables. */
export interface ReplicaPosition {
  readonly revision: number
  readonly tables?: number | undefined
}

/** A server that replicates the primary. */
export interface Replica {
  readonly name: string
  readonly state: ReplicaState
  /** Lag behind the primary; null if unknown. */
  readonly lag_ms: number | null
  readonly shared: LimiterFigures
  /** Figures of the connections for queries. */
  readonly figures: Pick<Pool, 'totalCount' | 'idleCount' | 'waitingCount'>
  /** @throws the error that prevents an answer */
  look(): Promise<ReplicaProbe>
  /** Starts or stops serving reads. */
  become(state: ReplicaState, lag_ms: number | null): void
  /**
   * Whether the replica has reached a position of a company's ledger. Polls for up to `wait_budget_ms`, unless the lag
   * exceeds that. Once true for one connection, it is true for all.
   */
  shows(companyId: number, wanted: ReplicaPosition, wait_budget_ms: number): Promise<boolean>
  /**
   * Runs a statement on the company's share of the connections. Rejects at once when the replica turns out to be
   * unreachable.
   */
  query<R extends QueryResultRow>(
    companyId: number,
    statement: string | QueryConfig,
    values?: unknown[],
  ): Promise<QueryResult<R>>
  close(): Promise<void>
}

interface StandbyOptions {
  readonly name: string
  /** Connections for queries. */
  readonly openPool: () => Pool
  /** Separate connection for probes: its statements are short, and answered soon or not at all. */
  readonly watch: Pool
  /** Shares the connections between companies. */
  readonly turns: KeyedSemaphore
}

const LOOK = {
  name: 'look_at_replica',
  text: `select pg_is_in_recovery() as "isStandby", s.system_identifier || '/' || d.oid as identity, m.version, m.number,
           coalesce(pg_last_wal_replay_lsn() - '0/0'::pg_lsn, 0)::bigint as bytes, pg_last_xact_replay_timestamp() as committed_at
         from pg_control_system() s, pg_database d, ops.read_model m
         where d.datname = current_database()`,
}

const SHOWN = {
  name: 'shown_on_replica',
  text: `select company_id, revision, to_regclass('companies')::oid as tables
         from ops.ledgers where company_id = any($1::bigint[])`,
}

/** Pause between two polls of the ledgers that requests wait for. */
const AGAIN_MS = 5
/** Time without an answer to a poll after which a replica counts as down. */
const SILENCE_MS = 500

interface Waiting {
  readonly companyId: number
  readonly wanted: ReplicaPosition
  readonly until_ms: number
  readonly resolve: (shows: boolean) => void
}

export function createReplica({ name, openPool, watch, turns }: StandbyOptions): Replica {
  let pool = openPool()
  let lend = sharePool(pool, turns)
  let state: ReplicaState = 'starting'
  let lag_ms: number | null = null
  const reading = new Set<(error: Error) => void>()
  const { shows, stop } = watchLedgers(watch)

  /** A machine that vanished leaves connections that never answer, so they are closed together with their reads. */
  function letGo(): void {
    const former = pool
    pool = openPool()
    lend = sharePool(pool, turns)
    former.end().catch(() => {})
    for (const reject of reading) reject(new Unavailable('the replica is away'))
  }

  return {
    name,
    get state() {
      return state
    },
    get lag_ms() {
      return lag_ms
    },
    shared: turns,
    figures: {
      get totalCount() {
        return pool.totalCount
      },
      get idleCount() {
        return pool.idleCount
      },
      get waitingCount() {
        return pool.waitingCount
      },
    },
    async look() {
      const { rows } = await watch.query<ReplicaProbe>(LOOK)
      if (!rows[0]) throw new Error('there are no tables of the read model')
      return rows[0]
    },
    become(found, lag) {
      if (found === 'down' && state !== 'down') letGo()
      state = found
      lag_ms = lag
    },
    shows: (companyId, wanted, wait_budget_ms) =>
      shows(companyId, wanted, lag_ms !== null && lag_ms <= wait_budget_ms ? wait_budget_ms : 0),
    query: <R extends QueryResultRow>(companyId: number, statement: string | QueryConfig, values?: unknown[]) =>
      new Promise<QueryResult<R>>((resolve, reject) => {
        reading.add(reject)
        lend(companyId)
          .query<R>(statement, values)
          .then(resolve, reject)
          .finally(() => reading.delete(reject))
      }),
    async close() {
      await stop()
      await Promise.all([pool.end(), watch.end()])
    },
  }
}

/** Polls a replica for all waiting requests together, one statement at a time. */
function watchLedgers(watch: Pool) {
  let waiting: Waiting[] = []
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  async function look(): Promise<void> {
    const asking = waiting
    waiting = []
    const shown = await shownBy(
      watch,
      asking.map(({ companyId }) => companyId),
    )
    for (const one of asking) {
      const isThere = isEnough(shown?.get(one.companyId), one.wanted)
      if (isThere || !shown || performance.now() >= one.until_ms) one.resolve(isThere)
      else waiting.push(one)
    }
    if (waiting.length > 0 && !stopped) timer = setTimeout(looking.ask, AGAIN_MS)
  }
  const looking = coalesce(look)

  return {
    shows: (companyId: number, wanted: ReplicaPosition, wait_budget_ms: number): Promise<boolean> =>
      new Promise((resolve) => {
        const giveUp = setTimeout(() => resolve(false), wait_budget_ms + SILENCE_MS)
        const answer = (isThere: boolean) => {
          clearTimeout(giveUp)
          resolve(isThere)
        }
        waiting.push({ companyId, wanted, until_ms: performance.now() + wait_budget_ms, resolve: answer })
        looking.ask()
      }),
    /** Resolves when the poll under way has ended. */
    stop() {
      stopped = true
      clearTimeout(timer)
      return looking.idle()
    },
  }
}

const isEnough = (shown: ReplicaPosition | undefined, { revision, tables }: ReplicaPosition): boolean =>
  shown !== undefined && shown.revision >= revision && (tables === undefined || shown.tables === tables)

/** Positions by company; null if the replica does not answer. */
async function shownBy(watch: Pool, companyIds: readonly number[]): Promise<Map<number, ReplicaPosition> | null> {
  type Row = ReplicaPosition & { company_id: number }
  const found = await watch.query<Row>({ ...SHOWN, values: [[...new Set(companyIds)]] }).catch(() => null)
  return found && new Map(found.rows.map((row) => [row.company_id, row]))
}

/** Interval between probes of the replicas. */
const LOOK_MS = 1_000

interface Watching {
  /** Pool of the primary. */
  readonly pool: Pool
  readonly replicas: readonly Replica[]
  readonly model: Pick<ReadModel, 'version' | 'number'>
  readonly maxLagMs: number
  readonly log: LogError
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

/** Probes the primary and its replicas until stopped, and decides which replicas serve reads. */
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
    log('replicas: replica left out', error ?? new Error(state), { replica: replica.name, state })
  }

  return repeat(look, LOOK_MS, (error) => log('replicas: comparison with the primary failed, will retry', error))
}

/** Required freshness of an answer. */
export interface ReadRequirement {
  /** Minimum revision of the company's ledger; `now`: the revision that is committed at the first read. */
  readonly revision: number | 'now'
  /** Required generation of the tables, because a rebuild replaces tables at the same revision; absent: any. */
  readonly tables?: number
  /** Wait budget for a replica to reach the revision, in ms. */
  readonly wait_budget_ms: number
}

/** Wait budget in ms if a prompt answer of the primary is preferred. */
export const SHORT_WAIT_BUDGET_MS = 50

/** As fresh as the primary's answer. */
export const LATEST: ReadRequirement = { revision: 'now', wait_budget_ms: SHORT_WAIT_BUDGET_MS }

/** Reads for one answer: all statements on one server, or the first ones on a replica and the rest on the primary. */
export interface ReadSession {
  readonly pool: Queryable
  /** The ledgers, as far as `pool` shows them. */
  readonly store: EventStore
}

/** Opens the reads of one company for one answer. Later reads are never older than earlier ones. */
export type OpenReadSession = (companyId: number, demand: ReadRequirement) => ReadSession

/** Server of an answer. `again`: the primary, because the chosen replica did not answer. */
export type ReadFrom = 'replica' | 'primary' | 'again'

interface ReadsOptions {
  readonly replicas: readonly Replica[]
  /** Database of the primary by company. */
  readonly poolOf: PoolOf
  readonly store: EventStore
  /** Called for each answer with its server. */
  readonly onRead: (from: ReadFrom) => void
}

const NOW = {
  name: 'ledger_now',
  text: `select revision, to_regclass('companies')::oid as tables from ops.ledgers where company_id = $1`,
}

const CANCELLED = '57014'
/**
 * The statement timed out, or the company has used up its share: the primary would fail the same way, after the same
 * time.
 */
const isFinal = (error: unknown): boolean =>
  error instanceof TenantLimitExceeded || (error as { code?: unknown } | null)?.code === CANCELLED

export const readFromPrimary =
  (poolOf: PoolOf, store: EventStore): OpenReadSession =>
  (companyId) => ({ pool: poolOf(companyId), store })

/** Reads from replicas round-robin, and from the primary if no replica meets the requirement. */
export function createReadRouter({ replicas, poolOf, store, onRead }: ReadsOptions): OpenReadSession {
  let turn = 0

  /** Null is the primary. */
  async function choose(companyId: number, demand: ReadRequirement): Promise<Replica | null> {
    const up = replicas.filter(({ state }) => state === 'up')
    if (up.length === 0) return null
    const first = turn++ % up.length
    const inTurn = [...up.slice(first), ...up.slice(0, first)]
    const { revision, tables, wait_budget_ms } = demand
    const wanted = revision === 'now' ? await ledgerNow(poolOf(companyId), companyId) : { revision, tables }
    for (const [place, replica] of inTurn.entries()) {
      const isLast = place === inTurn.length - 1
      if (await replica.shows(companyId, wanted, isLast ? wait_budget_ms : 0)) return replica
    }
    return null
  }

  return (companyId, demand) => {
    const primary = poolOf(companyId)
    let chosen: Promise<Replica | null> | null = null
    const chooseOnce = async () => {
      const replica = await choose(companyId, demand)
      onRead(replica ? 'replica' : 'primary')
      return replica
    }
    const query = async <R extends QueryResultRow>(
      statement: string | QueryConfig,
      values?: unknown[],
    ): Promise<QueryResult<R>> => {
      chosen ??= chooseOnce()
      const from = chosen
      const replica = await from
      if (!replica) return primary.query<R>(statement, values)
      try {
        return await replica.query<R>(companyId, statement, values)
      } catch (error) {
        if (isFinal(error)) throw error
        // All further reads of this answer go to the primary.
        if (chosen === from) {
          chosen = Promise.resolve(null)
          onRead('again')
        }
        return primary.query<R>(statement, values)
      }
    }
    const pool = { query }
    return {
      pool,
      get store() {
        return isOutside(store) ? store : createPostgresStore(pool)
      },
    }
  }
}

async function ledgerNow(pool: Queryable, companyId: number): Promise<ReplicaPosition> {
  const { rows } = await pool.query<ReplicaPosition>({ ...NOW, values: [companyId] })
  return rows[0] ?? { revision: -1, tables: undefined }
}

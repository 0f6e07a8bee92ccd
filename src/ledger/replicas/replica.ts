import type { Pool, QueryConfig, QueryResult, QueryResultRow } from 'pg'
import { coalesce } from '#background/repeat.ts'
import { Unavailable } from '#lib/errors.ts'
import type { LimiterFigures } from '#lib/fair-share-limiter.ts'
import type { KeyedSemaphore } from '#lib/keyed-semaphore.ts'
import { sharePool } from '#postgres/shared-pool.ts'
import type { TablesVersion } from '../rebuild/version.ts'

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

import type { Pool } from 'pg'
import { coalesce } from '#background/repeat.ts'
import { Unavailable } from '#lib/errors.ts'
import type { LimiterFigures } from '#lib/fair-share-limiter.ts'
import type { KeyedSemaphore } from '#lib/keyed-semaphore.ts'
import { sharePool } from '#postgres/shared-pool.ts'
import type { TablesVersion } from '../rebuild/version.ts'

/**
 * `up`: it is read from. Else why not: not looked at yet, not to be reached, too far behind, a server that is no standby (any
 * more), one of another database, or tables of another version than this process reads.
 */
export type ReplicaState = 'up' | 'starting' | 'down' | 'lagging' | 'no_standby' | 'other_database' | 'other_version'

/** What a server says of itself when it is looked at. */
export interface ReplicaProbe extends Pick<TablesVersion, 'version' | 'number'> {
  readonly isStandby: boolean
  /** Which database of which cluster it is: the same on a primary and its standbys. */
  readonly identity: string
  /** How much of the log it has replayed, in bytes; of a primary, how much it has written. */
  readonly bytes: number
  /** Time of the last commit that it has replayed (UTC); null where there was none. */
  readonly committed_at: string | null
}

type Statement = readonly unknown[]

/** A ledger's revision, and the tables that show it; undefined where any do. */
export interface ReplicaPosition {
  readonly revision: number
  readonly tables?: number | undefined
}

/** One server that follows the primary. */
export interface Replica {
  readonly name: string
  readonly state: ReplicaState
  /** How far it is behind; null while it cannot be told. */
  readonly lag_ms: number | null
  readonly shared: LimiterFigures
  /** Of its connections for queries. */
  readonly figures: Pick<Pool, 'totalCount' | 'idleCount' | 'waitingCount'>
  /** @throws whatever keeps it from answering */
  look(): Promise<ReplicaProbe>
  /** From now on it is read from, or is not. */
  become(state: ReplicaState, lag_ms: number | null): void
  /**
   * Whether it shows a company's ledger as far as is wanted; it is asked again for as long as `patience_ms`, unless it is further
   * behind than that. What it shows once, all of its connections show from then on.
   */
  shows(companyId: number, wanted: ReplicaPosition, patience_ms: number): Promise<boolean>
  /** Sends a statement on the company's share of its connections. Rejects at once where it is found to be away. */
  query(companyId: number, statement: Statement): Promise<unknown>
  close(): Promise<void>
}

interface StandbyOptions {
  readonly name: string
  /** Connections for queries. */
  readonly openPool: () => Pool
  /** One more, on which it is asked how it is: its statements are short, and answered soon or not at all. */
  readonly watch: Pool
  /** How companies share the connections. */
  readonly turns: KeyedSemaphore
}

const LOOK = {
  name: 'look_at_standby',
  text: `select pg_is_in_recovery() as "isStandby", s.system_identifier || '/' || d.oid as identity, m.version, m.number,
           coalesce(pg_last_wal_replay_lsn() - '0/0'::pg_lsn, 0)::bigint as bytes, pg_last_xact_replay_timestamp() as committed_at
         from pg_control_system() s, pg_database d, ops.read_model m
         where d.datname = current_database()`,
}

const SHOWN = {
  name: 'shown_on_standby',
  text: `select company_id, revision, to_regclass('companies')::oid as tables
         from ops.ledgers where company_id = any($1::bigint[])`,
}

/** Pause between two looks at the ledgers that somebody waits for. */
const AGAIN_MS = 5
/** A standby that does not even say how far it is is given up after so long. */
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

  /** A machine that is gone without a word would be waited for: its connections are let go with whoever reads on them. */
  function letGo(): void {
    const former = pool
    pool = openPool()
    lend = sharePool(pool, turns)
    former.end().catch(() => {})
    for (const reject of reading) reject(new Unavailable('the standby is away'))
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
    shows: (companyId, wanted, patience_ms) =>
      shows(companyId, wanted, lag_ms !== null && lag_ms <= patience_ms ? patience_ms : 0),
    query: (companyId, statement) =>
      new Promise((resolve, reject) => {
        const query = lend(companyId).query as (...statement: Statement) => Promise<unknown>
        reading.add(reject)
        query(...statement)
          .then(resolve, reject)
          .finally(() => reading.delete(reject))
      }),
    async close() {
      stop()
      await Promise.all([pool.end(), watch.end()])
    },
  }
}

/** Asks a standby for all who wait at once, one statement at a time. */
function watchLedgers(watch: Pool) {
  let waiting: Waiting[] = []
  let timer: NodeJS.Timeout | undefined

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
    if (waiting.length > 0) timer = setTimeout(looking.ask, AGAIN_MS)
  }
  const looking = coalesce(look)

  return {
    shows: (companyId: number, wanted: ReplicaPosition, patience_ms: number): Promise<boolean> =>
      new Promise((resolve) => {
        const giveUp = setTimeout(() => resolve(false), patience_ms + SILENCE_MS)
        const answer = (isThere: boolean) => {
          clearTimeout(giveUp)
          resolve(isThere)
        }
        waiting.push({ companyId, wanted, until_ms: performance.now() + patience_ms, resolve: answer })
        looking.ask()
      }),
    stop: () => clearTimeout(timer),
  }
}

const isEnough = (shown: ReplicaPosition | undefined, { revision, tables }: ReplicaPosition): boolean =>
  shown !== undefined && shown.revision >= revision && (tables === undefined || shown.tables === tables)

/** By company; null where it does not answer. */
async function shownBy(watch: Pool, companyIds: readonly number[]): Promise<Map<number, ReplicaPosition> | null> {
  type Row = ReplicaPosition & { company_id: number }
  const found = await watch.query<Row>({ ...SHOWN, values: [[...new Set(companyIds)]] }).catch(() => null)
  return found && new Map(found.rows.map((row) => [row.company_id, row]))
}

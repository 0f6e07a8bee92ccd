import { setTimeout as delay } from 'node:timers/promises'
import pg, { type ClientBase, type Pool, type PoolClient, type QueryResult, type QueryResultRow } from 'pg'
import type { Database } from './database.ts'

/** A statement with a constant text: prepared once per connection under its name, planned each time without one. */
export interface Statement {
  readonly name?: string
  readonly text: string
}

/** An open Postgres transaction. Statements are pipelined: they run in the order in which they were sent. */
export interface Transaction {
  query<R extends QueryResultRow>(statement: Statement, values?: readonly unknown[]): Promise<QueryResult<R>>
}

/** A transaction that also inserts rows in bulk. */
export interface BulkTransaction extends Transaction {
  /** Runs a COPY … FROM STDIN with all its lines. */
  copy(statement: string, lines: string): Promise<void>
}

interface Corkable {
  connection?: { stream?: { cork?: () => void; uncork?: () => void } }
}

/**
 * Sends all statements that `send` issues synchronously in one write to the socket: one round trip, one system call.
 * The promise settles when all of them have; a failure is thrown only afterwards, so that no rejection stays unhandled.
 */
export async function runPipelined<const T extends readonly Promise<unknown>[]>(
  client: PoolClient,
  send: () => T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const stream = (client as unknown as Corkable).connection?.stream
  stream?.cork?.()
  let sent: T
  try {
    sent = send()
  } finally {
    stream?.uncork?.()
  }
  const settled = await Promise.allSettled(sent)
  const failed = settled.find((outcome) => outcome.status === 'rejected')
  if (failed) throw failed.reason
  return Promise.all(sent) as Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }>
}

/** A transaction on a pooled client. Named statements are prepared, so a group of commands costs no planning. */
export function transactionOn(client: PoolClient): BulkTransaction {
  return {
    query: (statement, values = []) => client.query({ ...statement, values: values as unknown[] }),
    copy: (statement, lines) => copyIn(client, statement, lines),
  }
}

/**
 * With pipelined statements, COMMIT of a failed transaction resolves with the tag ROLLBACK; only the tag shows the
 * failure.
 */
export function assertCommitted(result: QueryResult): void {
  if (result.command !== 'COMMIT') throw new Error(`the transaction was not committed: ${result.command}`)
}

/**
 * Runs `work` in a new transaction, opened by `begin`. On any failure the connection is closed, because its state is
 * unknown.
 */
export const inTransaction = <T>(
  pool: Database,
  work: (tx: BulkTransaction, client: PoolClient) => Promise<T>,
  begin = 'begin',
): Promise<T> =>
  committed(pool, async (client) => {
    await client.query(begin)
    return work(transactionOn(client), client)
  })

/** As inTransaction, on an existing connection: a failure is rolled back, and the connection stays usable. */
export async function inTransactionOn<T>(client: ClientBase, work: () => Promise<T>, begin = 'begin'): Promise<T> {
  await client.query(begin)
  try {
    const value = await work()
    assertCommitted(await client.query('commit'))
    return value
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}

/**
 * As inTransaction, for reading; `begin` sets the kind of transaction. Statements that `read` sends immediately share a
 * round trip with BEGIN.
 */
export const inReading = <T>(pool: Database, begin: string, read: (tx: Transaction) => Promise<T>): Promise<T> =>
  committed(pool, async (client) => {
    const [, value] = await runPipelined(client, () => [client.query(begin), read(transactionOn(client))])
    return value
  })

async function committed<T>(pool: Database, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    const value = await work(client)
    assertCommitted(await client.query('commit'))
    client.release()
    return value
  } catch (error) {
    client.release(true)
    throw error
  }
}

/** Members that the driver's types omit. */
interface CopyConnection {
  query(text: string): void
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

/**
 * COPY … FROM STDIN with data in memory. Statement and data are sent together, without waiting for the server's
 * request. If the server rejects the statement it discards the data, so COPY can be pipelined with other statements.
 */
class CopyIn extends pg.Query {
  readonly #statement: string
  readonly #data: Buffer

  constructor(statement: string, data: Buffer, done: (error: Error | undefined) => void) {
    super(statement, done)
    this.#statement = statement
    this.#data = data
  }

  override submit = (connection: unknown): void => {
    const to = connection as CopyConnection
    to.query(this.#statement)
    to.sendCopyFromChunk(this.#data)
    to.endCopyFrom()
  }

  /** The server requests the data, which is already sent. */
  handleCopyInResponse(): void {}
}

/** Runs a COPY … FROM STDIN with lines in Postgres's text format. */
function copyIn(client: PoolClient, statement: string, lines: string): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query(new CopyIn(statement, Buffer.from(lines), (error) => (error ? reject(error) : resolve())))
  })
}

const LOCK_NOT_AVAILABLE = '55P03'

interface AdvisoryLock<T> {
  /** Name of the lock; one session of the database holds it at a time. */
  readonly key: string
  /** Longest wait for another session that holds the lock; by default none. */
  readonly wait_ms?: number
  /** Called if another session keeps the lock. */
  readonly ifTaken?: () => T
}

/** Runs `work` while its connection holds the lock. The lock ends with the connection, in whatever way that ends. */
export async function withAdvisoryLock<T>(
  pool: Pool,
  { key, wait_ms = 0, ifTaken }: AdvisoryLock<T>,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  try {
    const has = wait_ms === 0 ? await tryAdvisoryLock(client, key) : await acquire(client, key, wait_ms)
    if (has) return await work(client)
  } finally {
    // Explicitly: a closed connection releases the lock only a moment later.
    await client.query('rollback; select pg_advisory_unlock_all()').catch(() => {})
    client.release(true)
  }
  if (!ifTaken) throw new Error(`another session has the lock "${key}"`)
  return ifTaken()
}

/** Takes the lock for the rest of the session; false if another session holds it. */
export async function tryAdvisoryLock(
  client: ClientBase,
  key: string,
  mode: 'exclusive' | 'shared' = 'exclusive',
): Promise<boolean> {
  const lock = mode === 'shared' ? 'pg_try_advisory_lock_shared' : 'pg_try_advisory_lock'
  const { rows } = await client.query<{ has: boolean }>(`select ${lock}(hashtextextended($1, 0)) as has`, [key])
  return rows[0]?.has === true
}

/** The time-outs belong to the transaction, the lock to the session. */
async function acquire(client: ClientBase, key: string, wait_ms: number): Promise<boolean> {
  const timeout_ms = Number.isFinite(wait_ms) ? wait_ms : 0
  try {
    await inTransactionOn(
      client,
      () => client.query('select pg_advisory_lock(hashtextextended($1, 0))', [key]),
      `begin; set local lock_timeout = ${timeout_ms}; set local statement_timeout = 0`,
    )
    return true
  } catch (error) {
    if ((error as { code?: unknown }).code !== LOCK_NOT_AVAILABLE) throw error
    return false
  }
}

/**
 * Longest wait of one attempt for a lock. Later sessions queue behind the attempt, even readers: without this limit
 * they would wait as long as the slowest earlier reader.
 */
export const LOCK_TIMEOUT_MS = 50

const PAUSE_MIN_MS = 250
const PAUSE_MAX_MS = 15_000

/** lock_not_available, deadlock_detected, query_canceled (time-out) */
const IN_THE_WAY = ['55P03', '40P01', '57014']

/** Whether a statement failed because other sessions hold a lock that it needs. */
export const isLockConflict = (error: unknown): boolean =>
  IN_THE_WAY.includes(String((error as { code?: unknown } | null)?.code ?? ''))

interface Patient {
  /** Connection to find the blocking sessions. */
  readonly client: ClientBase
  /** Component of the log line. */
  readonly what: string
  readonly tell: (line: string) => void
}

/**
 * Retries `attempt` until no lock conflict prevents it, without a time limit. Attempts are short, and pauses grow to 15
 * seconds; after each failure the blocking sessions are reported. `attempt` must leave no transaction open.
 */
export async function retryOnLockTimeout<T>({ client, what, tell }: Patient, attempt: () => Promise<T>): Promise<T> {
  for (let pause_ms = PAUSE_MIN_MS; ; pause_ms = Math.min(pause_ms * 2, PAUSE_MAX_MS)) {
    try {
      return await attempt()
    } catch (error) {
      if (!isLockConflict(error)) throw error
    }
    tell(`${what}: waits for ${await sessionsInTheWay(client)}`)
    await delay(pause_ms)
  }
}

/** Sessions with older locks on the service's tables, the oldest first. */
async function sessionsInTheWay(client: ClientBase): Promise<string> {
  const { rows } = await client.query<{ pid: number; name: string; what: string }>(
    `select a.pid, coalesce(nullif(a.application_name, ''), 'without a name') as name,
       coalesce(a.state || to_char(a.query_start at time zone 'UTC', '", query of "YYYY-MM-DD"T"HH24:MI:SS"Z"'),
         'of role ' || a.usename) as what
     from pg_stat_activity a
     where a.datname = current_database() and a.pid <> pg_backend_pid()
       -- Of sessions of other roles it is not told.
       and coalesce(a.xact_start < clock_timestamp() - make_interval(secs => $1::float8 / 1000), a.usename <> current_user)
       and exists (
         select from pg_locks l join pg_class c on c.oid = l.relation join pg_namespace n on n.oid = c.relnamespace
         where l.pid = a.pid and l.granted and n.nspname ~ '^(ops|ledger|read)')
     order by a.xact_start limit 3`,
    [LOCK_TIMEOUT_MS],
  )
  if (rows.length === 0) return 'short transactions that come one after the other'
  return rows.map(({ pid, name, what }) => `process ${pid} (${name}, ${what})`).join(', ')
}

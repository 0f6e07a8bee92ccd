import pg, { type ClientBase, type PoolClient, type QueryResult, type QueryResultRow } from 'pg'
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
export async function pipelined<const T extends readonly Promise<unknown>[]>(
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
    const [, value] = await pipelined(client, () => [client.query(begin), read(transactionOn(client))])
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

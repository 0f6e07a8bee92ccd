import pg, { type ClientBase, type Pool, type PoolClient, type QueryResult, type QueryResultRow } from 'pg'

/** A statement with a stable text: prepared once per connection under its name. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** An open Postgres transaction. Statements are pipelined: they run in the order in which they were sent. */
export interface Transaction {
  query<R extends QueryResultRow>(statement: Statement, values?: readonly unknown[]): Promise<QueryResult<R>>
}

/** A transaction that also takes rows by the thousand. */
export interface BulkTransaction extends Transaction {
  /** Sends a COPY … FROM STDIN with all its lines. */
  copy(statement: string, lines: string): Promise<void>
}

interface Corkable {
  connection?: { stream?: { cork?: () => void; uncork?: () => void } }
}

/**
 * Sends every statement that `send` issues synchronously in one write to the socket: one round trip, one system call.
 * The promise settles when all of them have; a failure is thrown only after all are settled, so none is left unhandled.
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

/** A transaction on a pooled client: named statements are prepared, so a group of commands costs no planning. */
export function transactionOn(client: PoolClient): BulkTransaction {
  return {
    query: (statement, values = []) => client.query({ ...statement, values: values as unknown[] }),
    copy: (statement, lines) => copyIn(client, statement, lines),
  }
}

/** COMMIT of a failed transaction resolves, tagged ROLLBACK, when statements are pipelined: only the tag tells. */
export function assertCommitted(result: QueryResult): void {
  if (result.command !== 'COMMIT') throw new Error(`the transaction was not committed: ${result.command}`)
}

/**
 * Runs `work` in a transaction of its own, which `begin` opens; on any failure the connection is destroyed, because its state
 * is unknown.
 */
export const inTransaction = <T>(
  pool: Pool,
  work: (tx: BulkTransaction, client: PoolClient) => Promise<T>,
  begin = 'begin',
): Promise<T> =>
  committed(pool, async (client) => {
    await client.query(begin)
    return work(transactionOn(client), client)
  })

/** The same on a connection that is used before and afterwards: a failure is rolled back. */
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

/** The same for reading, where `begin` says what kind of transaction it is: what `read` asks for at once goes with the beginning. */
export const inReading = <T>(pool: Pool, begin: string, read: (tx: Transaction) => Promise<T>): Promise<T> =>
  committed(pool, async (client) => {
    const [, value] = await pipelined(client, () => [client.query(begin), read(transactionOn(client))])
    return value
  })

async function committed<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
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

/** What the driver's own types leave out. */
interface CopyConnection {
  query(text: string): void
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

/**
 * COPY … FROM STDIN of what is in memory. Statement and data are sent in one go, without waiting to be asked for them: a
 * server that has refused the statement drops the data, so it can be pipelined with other statements as any of them.
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

  /** The server asks for the data, which is on its way. */
  handleCopyInResponse(): void {}
}

/** Runs a COPY … FROM STDIN whose data are lines of Postgres' text format. */
function copyIn(client: PoolClient, statement: string, lines: string): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query(new CopyIn(statement, Buffer.from(lines), (error) => (error ? reject(error) : resolve())))
  })
}

import pg from 'pg'

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
export function copyIn(client: pg.PoolClient, statement: string, lines: string): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query(new CopyIn(statement, Buffer.from(lines), (error) => (error ? reject(error) : resolve())))
  })
}

import type { Pool } from 'pg'

type Client = Pick<Pool, 'query'>

/** The id of the installation whose database this is: a uuid, made with the database. It is part of the origin of every checkpoint. */
export async function installationIdOf(client: Client): Promise<string> {
  return (await installationOf(client)).id
}

/** The row of `ops.installation`. */
export interface Installation {
  readonly id: string
  /** Which of its homes this database is. */
  readonly name: string
  /** Hosts of the EventStoreDB with the ledgers; null: they are in this Postgres, or it is not noted yet. */
  readonly event_store: string | null
  readonly home: string | null
  /** A copy made on purpose, of which nothing goes out. */
  readonly is_copy: boolean
  /** A restore that is being recorded (src/integrity/proofs/restore.ts). */
  readonly restoring: unknown
  /** Whether it knows of any event. */
  readonly has_ledgers: boolean
}

export async function installationOf(client: Client): Promise<Installation> {
  const { rows } = await client.query<Installation>({
    name: 'installation',
    text: `select id, name, event_store, home, is_copy, restoring,
             exists (select from ops.ledgers where revision >= 0) as has_ledgers from ops.installation`,
  })
  const [row] = rows
  if (!row) throw new Error('the database has no installation id')
  return row
}

import type { Queryable } from '#postgres/database.ts'

type Client = Queryable

/**
 * Installation id of this database: a uuid, created with the database. It is part of the origin of every checkpoint.
 */
export async function installationIdOf(client: Client): Promise<string> {
  return (await installationOf(client)).id
}

/** Row of `ops.installation`. */
export interface Installation {
  readonly id: string
  /** The first of several installations with one ring of keys; names the ring and the logs of companies. */
  readonly family: string
  /** Number of this cell; 0 of the first one. */
  readonly cell: number
  /** Hosts of the EventStoreDB with the ledgers; null if they are in this Postgres or none was recorded. */
  readonly event_store: string | null
  readonly identity: string | null
  /** A deliberate copy, which sends nothing to the outside. */
  readonly is_copy: boolean
  /** State of an unfinished restore (src/integrity/proofs/restore.ts). */
  readonly restoring: unknown
  /** Whether the database has any event. */
  readonly has_ledgers: boolean
}

export async function installationOf(client: Client): Promise<Installation> {
  const { rows } = await client.query<Installation>({
    name: 'installation',
    text: `select id, coalesce(family, id) as family, cell, event_store, identity, is_copy, restoring,
             exists (select from ops.ledgers where revision >= 0) as has_ledgers from ops.installation`,
  })
  const [row] = rows
  if (!row) throw new Error('the database has no installation id')
  return row
}

/** Companies that are open in another installation, and have left this one. */
export async function departedCompanies(client: Client): Promise<ReadonlySet<number>> {
  const { rows } = await client.query<{ company_id: number }>(
    `select company_id from ops.company_moves where state in ('confirmed', 'removed')`,
  )
  return new Set(rows.map(({ company_id }) => company_id))
}

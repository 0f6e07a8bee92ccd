import type { Pool } from 'pg'

/** The id of the installation whose database this is: a uuid, made with the database. It is part of the origin of every checkpoint. */
export async function installationIdOf(client: Pick<Pool, 'query'>): Promise<string> {
  const { rows } = await client.query<{ id: string }>({
    name: 'installation_id',
    text: 'select id from ops.installation',
  })
  const [row] = rows
  if (!row) throw new Error('the database has no installation id')
  return row.id
}

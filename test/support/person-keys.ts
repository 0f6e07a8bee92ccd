import type { Pool } from 'pg'
import { personKeys } from '#ledger/person-keys.ts'
import { createPool } from '#postgres/pool.ts'

const COLUMNS = Object.keys(personKeys.columns).join(', ')

/** Brings the keys of persons, and ids of the master keys that have sealed them, from one database to another, as from a backup. */
export async function copyKeys(from: string, to: string): Promise<void> {
  const [source, target] = [from, to].map((url) => createPool(url, { max: 1 })) as [Pool, Pool]
  try {
    const { rows } = await source.query<{ keys: string }>(
      `select coalesce(json_agg(k), '[]')::text as keys from ops.person_keys k`,
    )
    const masters = await source.query<{ id: Buffer }>('select id from ops.master_keys')
    for (const { id } of masters.rows)
      await target.query('insert into ops.master_keys (id) values ($1) on conflict do nothing', [id])
    await target.query(
      `insert into ops.person_keys (${COLUMNS})
       select ${COLUMNS} from json_populate_recordset(null::ops.person_keys, $1::json)`,
      [rows[0]?.keys],
    )
  } finally {
    await Promise.all([source.end(), target.end()])
  }
}

import type { Pool } from 'pg'
import { createPool } from '#postgres/pool.ts'

/** Brings the keys of persons from one database to another, as from a backup of them. */
export async function copyKeys(from: string, to: string): Promise<void> {
  const [source, target] = [from, to].map((url) => createPool(url, { max: 1 })) as [Pool, Pool]
  try {
    const { rows } = await source.query<{ keys: string }>(
      `select coalesce(json_agg(k), '[]')::text as keys from ops.person_keys k`,
    )
    await target.query(
      'insert into ops.person_keys select * from json_populate_recordset(null::ops.person_keys, $1::json)',
      [rows[0]?.keys],
    )
  } finally {
    await Promise.all([source.end(), target.end()])
  }
}

import type { Pool } from 'pg'

/**
 * Copies the ring of checkpoint keys: all shards have the same one. The shard's own file is completed at its next
 * start.
 */
export async function copySealKeys(main: Pick<Pool, 'query'>, shard: Pick<Pool, 'query'>): Promise<void> {
  const { rows } = await main.query('select index, vkey, public_key, since, signed_by, note from ops.seal_keys')
  await shard.query(
    `insert into ops.seal_keys (index, vkey, public_key, since, signed_by, note)
     select index, vkey, public_key, since, signed_by, note
     from jsonb_populate_recordset(null::ops.seal_keys, $1) on conflict do nothing`,
    [JSON.stringify(rows)],
  )
}

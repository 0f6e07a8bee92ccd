import type { Pool } from 'pg'

const NAME = 'follower'

/** The position up to which every event of the store is applied; null before the first. */
export async function readCheckpoint(pool: Pool): Promise<string | null> {
  const { rows } = await pool.query<{ position: string }>('select position from ops.checkpoints where name = $1', [
    NAME,
  ])
  return rows[0]?.position ?? null
}

export async function writeCheckpoint(pool: Pool, position: string): Promise<void> {
  await pool.query(
    `insert into ops.checkpoints (name, position) values ($1, $2)
     on conflict (name) do update set position = excluded.position`,
    [NAME, position],
  )
}

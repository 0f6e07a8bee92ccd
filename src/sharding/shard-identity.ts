import type { Pool } from 'pg'
import { withPool } from '#postgres/pool.ts'

/** Shard name and installation of a database. */
export interface ShardIdentity {
  readonly installation: string
  readonly name: string
}

/** The database is not a shard, or not the configured one. */
export class WrongShardDatabase extends Error {
  override readonly name = 'NotThatShard'
}

/** Null for a database that was never prepared. */
export async function readShardIdentity(pool: Pick<Pool, 'query'>): Promise<ShardIdentity | null> {
  const { rows } = await pool.query<{ isPrepared: boolean }>(
    `select to_regclass('ops.shards') is not null as "isPrepared"`,
  )
  if (!rows[0]?.isPrepared) return null
  const found = await pool.query<ShardIdentity>('select id as installation, name from ops.installation')
  return found.rows[0] ?? null
}

/**
 * Checked before the first write: an unregistered database must not be taken for a shard. @throws WrongShardDatabase
 */
export async function assertShard(databaseUrl: string, { name, installation }: Partial<ShardIdentity>): Promise<void> {
  await withPool(databaseUrl, { max: 1, application_name: 'tillbook shard' }, async (pool) => {
    const found = await readShardIdentity(pool)
    const isThat = found?.name === name && (installation === undefined || found?.installation === installation)
    if (!isThat)
      throw new WrongShardDatabase(`the database configured as shard ${name} is not that shard of this installation`)
  })
}

export const shardNotAdded = (name: string): WrongShardDatabase =>
  new WrongShardDatabase(`shard ${name} is not registered; run "tillbook shard add ${name}"`)

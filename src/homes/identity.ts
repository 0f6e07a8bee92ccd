import type { Pool } from 'pg'
import { withPool } from '#postgres/pool.ts'

/** Shard name and installation of a database. */
export interface Identity {
  readonly installation: string
  readonly name: string
}

/** The database is not a shard, or not the configured one. */
export class NotThatHome extends Error {
  override readonly name = 'NotThatHome'
}

/** Null for a database that was never prepared. */
export async function identityOf(pool: Pick<Pool, 'query'>): Promise<Identity | null> {
  const { rows } = await pool.query<{ isPrepared: boolean }>(
    `select to_regclass('ops.homes') is not null as "isPrepared"`,
  )
  if (!rows[0]?.isPrepared) return null
  const found = await pool.query<Identity>('select id as installation, name from ops.installation')
  return found.rows[0] ?? null
}

/**
 * Checked before the first write: an unregistered database must not be taken for a shard. @throws WrongShardDatabase
 */
export async function assertHome(databaseUrl: string, { name, installation }: Partial<Identity>): Promise<void> {
  await withPool(databaseUrl, { max: 1, application_name: 'tillbook home' }, async (pool) => {
    const found = await identityOf(pool)
    const isThat = found?.name === name && (installation === undefined || found?.installation === installation)
    if (!isThat)
      throw new NotThatHome(`the database configured as shard ${name} is not that shard of this installation`)
  })
}

export const notAdded = (name: string): NotThatHome =>
  new NotThatHome(`shard ${name} is not registered; run "tillbook shard add ${name}"`)

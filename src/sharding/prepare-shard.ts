import type { Pool } from 'pg'
import { claimDatabase } from '#crypto/master-key-registry.ts'
import type { MasterKeys } from '#crypto/master-keys.ts'
import { UnsupportedPostgres } from '#lib/errors.ts'
import { migrateAsOwner } from '#postgres/migrate.ts'
import { withPool } from '#postgres/pool.ts'
import { assertLeast } from '#postgres/privileges.ts'
import { copySealKeys } from './seal-keys.ts'
import { readShardIdentity, type ShardIdentity } from './shard-identity.ts'

interface ShardPreparation {
  readonly name: string
  /** Of an existing shard. */
  readonly existingShard: Pick<Pool, 'query'>
  readonly databaseUrl: string
  readonly ownerUrl: string | undefined
  readonly masterKeys: MasterKeys
  /** Receives excess privileges of that role. */
  readonly onExcess?: (privileges: readonly string[]) => void
}

/**
 * Prepares an empty database as a shard (SHARD-9): migrations and privileges as its owner, then the installation's id,
 * secrets and keys, which all shards share. Repeatable. @throws UnsupportedPostgres for a database that is in use
 */
export async function prepareShard({
  name,
  existingShard,
  databaseUrl,
  ownerUrl,
  ...rest
}: ShardPreparation): Promise<void> {
  await withPool(databaseUrl, { max: 1, application_name: 'tillbook shard' }, async (pool) => {
    const identity = (await readShardIdentity(existingShard)) as ShardIdentity
    await assertFree(pool, name, identity)
    await migrateAsOwner({ pool, databaseUrl, ownerUrl })
    await assertLeast(pool, { onExcess: ownerUrl === undefined ? (rest.onExcess ?? null) : null })
    await claimDatabase({ pool, keys: rest.masterKeys, onMade: () => {} })
    await copySecrets(existingShard, pool)
    await copySealKeys(existingShard, pool)
    // Last, so that the name implies a complete shard.
    await pool.query('update ops.installation set id = $1, name = $2', [identity.installation, name])
  })
}

/** @throws UnsupportedPostgres */
async function assertFree(pool: Pool, name: string, { installation }: ShardIdentity): Promise<void> {
  const { rows } = await pool.query<{ isNew: boolean }>(`select to_regclass('ops.ledgers') is null as "isNew"`)
  if (rows[0]?.isNew) return
  const found = await readShardIdentity(pool)
  const isOurs = found?.installation === installation
  if (isOurs && found.name === name) return
  if (isOurs) throw new UnsupportedPostgres(`this database is already shard ${found.name}`)
  const { rows: kept } = await pool.query<{ isUsed: boolean }>(
    `select exists (select from ops.ledgers) or exists (select from ops.persons) or exists (select from ops.seal_keys) as "isUsed"`,
  )
  if (kept[0]?.isUsed)
    throw new UnsupportedPostgres(
      'this database belongs to another installation or holds ledgers: a new shard needs an empty one',
    )
}

/** Secrets of request hashes and payment links, which a migrating company does not carry. */
async function copySecrets(existingShard: Pick<Pool, 'query'>, shard: Pool): Promise<void> {
  const { rows } = await existingShard.query<{ name: string; secret: Buffer }>(
    'select name, secret from ops.installation_secrets',
  )
  await shard.query(
    `insert into ops.installation_secrets (name, secret) select * from unnest($1::text[], $2::bytea[])
     on conflict (name) do update set secret = excluded.secret`,
    [rows.map(({ name }) => name), rows.map(({ secret }) => secret)],
  )
}

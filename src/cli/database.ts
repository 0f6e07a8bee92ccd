import { prepareLike } from '#cells/prepare-like.ts'
import { type Addresses, addressesOf } from '#config/config.ts'
import { DEFAULT_SHARD } from '#config/databases.ts'
import { loadMasterKeys } from '#crypto/master-keys.ts'
import { migrateAsOwner } from '#postgres/migrate.ts'
import { withPool } from '#postgres/pool.ts'
import { assertLeast, roleOf } from '#postgres/privileges.ts'
import { readShardIdentity } from '#sharding/shard-identity.ts'
import type { Verbs } from './verb.ts'

interface PreparedDatabase {
  readonly shard?: string
  readonly role: string
  /** Excess privileges of the role. */
  readonly excess: string
}

async function prepare({ databaseUrl, ownerUrl }: Addresses): Promise<PreparedDatabase> {
  return withPool(databaseUrl, { max: 1, application_name: 'tillbook command' }, async (pool) => {
    await migrateAsOwner({ pool, databaseUrl, ownerUrl })
    let excess: readonly string[] = []
    const onExcess = (found: readonly string[]) => {
      excess = found
    }
    await assertLeast(pool, { onExcess })
    return { role: await roleOf(pool), excess: excess.join(', ') }
  })
}

/** An unregistered database stays unchanged; adding the shard prepares it. */
async function isAdded({ databaseUrl }: Addresses): Promise<boolean> {
  return withPool(databaseUrl, { max: 1, application_name: 'tillbook command' }, async (pool) => {
    const identity = await readShardIdentity(pool)
    return identity !== null && identity.name !== DEFAULT_SHARD
  })
}

export const verbs: Verbs<'database'> = {
  'database prepare': {
    async run({ config, addresses }, { like }) {
      const place = await addresses(DEFAULT_SHARD)
      const main = await prepare(place)
      if (like !== undefined)
        await withPool(place.databaseUrl, { max: 1, application_name: 'tillbook command' }, (pool) =>
          prepareLike(pool, { likeUrl: like, masterKeys: loadMasterKeys(config), keyFile: config.SEAL_KEY_FILE }),
        )
      if (!config.SHARDS) return main
      const prepared: PreparedDatabase[] = [{ shard: DEFAULT_SHARD, ...main }]
      for (const named of config.SHARDS) {
        const further = addressesOf(config, named)
        if (await isAdded(further)) prepared.push({ shard: named.name, ...(await prepare(further)) })
      }
      return prepared
    },
    isBad: (result) => [result as PreparedDatabase].flat().some(({ excess }) => excess !== ''),
  },
}

import { prepareLike } from '#cells/prepare-like.ts'
import { loadMasterKeys } from '#crypto/master-keys.ts'
import { migrateAsOwner } from '#postgres/migrate.ts'
import { withPool } from '#postgres/pool.ts'
import { assertLeast, roleOf } from '#postgres/privileges.ts'
import type { Verbs } from './verb.ts'

interface PreparedDatabase {
  readonly role: string
  /** Excess privileges of the role. */
  readonly excess: string
}

export const verbs: Verbs<'database prepare'> = {
  'database prepare': {
    async run({ config, addresses }, { like }): Promise<PreparedDatabase> {
      const { databaseUrl, ownerUrl } = await addresses()
      return withPool(databaseUrl, { max: 1, application_name: 'tillbook command' }, async (pool) => {
        await migrateAsOwner({ pool, databaseUrl, ownerUrl })
        let excess: readonly string[] = []
        const onExcess = (found: readonly string[]) => {
          excess = found
        }
        await assertLeast(pool, { onExcess })
        const likeness = { masterKeys: loadMasterKeys(config), keyFile: config.SEAL_KEY_FILE }
        if (like !== undefined) await prepareLike(pool, { likeUrl: like, ...likeness })
        return { role: await roleOf(pool), excess: excess.join(', ') }
      })
    },
    isBad: (result) => (result as PreparedDatabase).excess !== '',
  },
}

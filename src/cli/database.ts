import { migrateAsOwner } from '#postgres/migrate.ts'
import { createPool } from '#postgres/pool.ts'
import { assertLeast, roleOf } from '#postgres/privileges.ts'
import { openPostgres } from './connection.ts'
import type { Verbs } from './verb.ts'

export const verbs: Verbs<'database'> = {
  'database prepare': {
    async run({ config }) {
      const { databaseUrl, ownerUrl, stop } = await openPostgres(config)
      const pool = createPool(databaseUrl, { max: 1, application_name: 'tillbook command' })
      try {
        await migrateAsOwner({ pool, databaseUrl, ownerUrl })
        let excess: readonly string[] = []
        const onExcess = (found: readonly string[]) => {
          excess = found
        }
        await assertLeast(pool, { onExcess })
        return { role: await roleOf(pool), excess: excess.join(', ') }
      } finally {
        await pool.end()
        await stop()
      }
    },
    isBad: (result) => (result as { excess: string }).excess !== '',
  },
}

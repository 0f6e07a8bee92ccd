import type { Pool } from 'pg'
import { purge } from '#lib/background-loops.ts'
import { RETENTION } from '#service/process-roles.ts'

/** Purges tables of `ops` by the service's rules. Returns the number of deleted rows. */
export function purgeTables(pool: Pool, ...tables: readonly string[]): Promise<number> {
  const rules = RETENTION.filter(({ table }) => tables.includes(table.replace('ops.', '')))
  if (rules.length < tables.length) throw new Error(`no retention of one of ${tables.join()}`)
  return purge(pool, rules, {
    onError(error) {
      throw error
    },
  })
}

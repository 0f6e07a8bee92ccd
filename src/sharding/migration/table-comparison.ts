import type { Pool } from 'pg'
import { type CarriedTable, carriedTables } from '#cells/carried-tables.ts'
import type { Migration } from './migrating-shard.ts'
import { MigrationRefused } from './migration-refused.ts'

/** `settled`: rows that no longer change, possibly many. `rest`: all others. */
type Part = 'settled' | 'rest'

/**
 * Sum of row hashes, independent of order. Rows are hashed as text: both shards have the same columns in the same
 * order.
 */
function digestOf(table: CarriedTable, place: number, part: Part, companyId: number): string {
  const { settled = 'false' } = table
  const row = table.lasting ? `row(${table.lasting.join(', ')})` : 't'
  const is = part === 'settled' ? settled : `(${settled}) is not true`
  return `select ${place} as place, count(*) || '/' || coalesce(sum(('x' || left(md5((${row})::text), 15))::bit(60)::bigint), 0) as digest
    from ${table.name} t where ${table.of(String(companyId))} and (${is})`
}

/** Comparisons of tables that differ: request counts and logins are written meanwhile. */
const TRIES = 3

/** Compares all carried tables (SHARD-54). Between attempts `settle` waits for replication. @throws MigrationRefused */
export async function compareTables(
  { companyId, from, to }: Pick<Migration, 'companyId' | 'from' | 'to'>,
  part: Part,
  settle: () => Promise<void>,
): Promise<void> {
  let tables = carriedTables(from.store).filter(
    (table) => table.isCompared !== false && (part === 'rest' || table.settled),
  )
  for (let tries = 1; ; tries += 1) {
    const [here, there] = await Promise.all([from, to].map(({ owner }) => digestsOf(owner, tables, part, companyId)))
    const differ = tables.filter((_, n) => here?.[n] !== there?.[n])
    if (differ.length === 0) return
    if (tries === TRIES)
      throw new MigrationRefused('differs', `rows differ in ${differ.map(({ name }) => name).join(', ')}`)
    tables = differ
    await settle()
  }
}

/** Row count and hash sum of each table, in one statement because writes may be waiting. */
async function digestsOf(
  owner: Pool,
  tables: readonly CarriedTable[],
  part: Part,
  companyId: number,
): Promise<string[]> {
  const each = tables.map((table, place) => digestOf(table, place, part, companyId))
  const { rows } = await owner.query<{ digest: string }>(`${each.join(' union all ')} order by place`)
  return rows.map(({ digest }) => digest)
}

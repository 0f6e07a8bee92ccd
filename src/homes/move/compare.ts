import type { Pool } from 'pg'
import { MoveRefused } from './move-refused.ts'
import type { Move } from './moving-home.ts'
import { type Carried, carriedTables } from './tables.ts'

/** `settled`: what does not change any more, which may be much. `rest`: everything else. */
type Part = 'settled' | 'rest'

/** Rows of a table, and a sum of their hashes, which does not depend on their order. */
interface Digest {
  readonly count: number
  readonly sum: string
}

/** Of rows as text: both homes have the same migrations, and so the same columns in the same order. */
function digestOf(table: Carried, part: Part, companyId: number): string {
  const { settled = 'false' } = table
  const row = table.lasting ? `row(${table.lasting.join(', ')})` : 't'
  const is = part === 'settled' ? settled : `(${settled}) is not true`
  return `select count(*)::int as count, coalesce(sum(('x' || left(md5((${row})::text), 15))::bit(60)::bigint), 0)::text as sum
    from ${table.name} t where ${table.of(String(companyId))} and (${is})`
}

/** So often tables are looked at that differ: calls are counted, and people log in, while they are compared. */
const TRIES = 3

/** Compares the rows of all carried tables (HOME-54). Between tries `settle` has what is on its way arrive. @throws MoveRefused */
export async function compareTables(
  { companyId, from, to }: Pick<Move, 'companyId' | 'from' | 'to'>,
  part: Part,
  settle: () => Promise<void>,
): Promise<void> {
  let tables = carriedTables(from.store).filter(
    (table) => table.isCompared !== false && (part === 'rest' || table.settled),
  )
  for (let tries = 1; ; tries += 1) {
    const differ: Carried[] = []
    // One after the other in each home, both homes at once: the service goes on beside it.
    for (const table of tables) {
      const [here, there] = await Promise.all(
        [from, to].map(({ owner }) => digest(owner, digestOf(table, part, companyId))),
      )
      if (here?.count !== there?.count || here?.sum !== there?.sum) differ.push(table)
    }
    if (differ.length === 0) return
    if (tries === TRIES) throw new MoveRefused('differs', `rows differ in ${differ.map(({ name }) => name).join(', ')}`)
    tables = differ
    await settle()
  }
}

async function digest(owner: Pool, text: string): Promise<Digest | undefined> {
  const { rows } = await owner.query<Digest>(text)
  return rows[0]
}

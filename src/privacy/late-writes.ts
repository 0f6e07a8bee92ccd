import type { Pool } from 'pg'
import { type InTurnOptions, workInTurn } from '#background/round-robin.ts'
import type { PersonPart } from '#domain/personal-data.ts'
import { acceptsSideWrites } from '#ledger/migration-state.ts'
import { isNotMigrating } from '#postgres/migration-condition.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { erasePerson } from './erase-person.ts'

/** For so long whatever was under way when a person was forgotten may still write what it knew: an upload, a delivery, an answer whose commit was in doubt. */
const UNDER_WAY_MINUTES = 25

/** How often it is looked for, so that each person is looked for twice at least. */
export const LATE_WRITES_EVERY_MS = 600_000

/** Persons of one transaction, which looks at everything that the company keeps for a while. */
const SLICE = 500

/** Wipes once more who was forgotten lately, for what others have written meanwhile from what they had in memory (PRIV-37). */
export async function eraseLateWrites(pool: Pool, options: InTurnOptions): Promise<void> {
  const { rows } = await pool.query<Lately>({ ...FIND_LATELY, values: [UNDER_WAY_MINUTES] })
  const waiting = new Map<number, Lately[]>()
  for (const { company_id } of rows) waiting.set(company_id, [])
  for (const lately of rows) waiting.get(lately.company_id)?.push(...slicesOf(lately))
  const slice = async (companyId: number): Promise<'more' | 'done'> => {
    const slices = waiting.get(companyId) as Lately[]
    const { parts, subjects } = slices.shift() as Lately
    await inTransaction(pool, async (tx) => {
      if (await acceptsSideWrites(tx, companyId)) await erasePerson(tx, companyId, { subjects, parts })
    })
    return slices.length > 0 ? 'more' : 'done'
  }
  await workInTurn(waiting.keys(), slice, options)
}

function slicesOf(lately: Lately): Lately[] {
  const slices: Lately[] = []
  for (let from = 0; from < lately.subjects.length; from += SLICE)
    slices.push({ ...lately, subjects: lately.subjects.slice(from, from + SLICE) })
  return slices
}

interface Lately {
  readonly company_id: number
  readonly parts: readonly PersonPart[]
  readonly subjects: readonly string[]
}

/** Subjects of a company of which the same was forgotten, together. */
const FIND_LATELY = {
  name: 'find_lately_forgotten',
  text: `select company_id, parts, array_agg(subject) as subjects
         from (select company_id, subject, array_agg(part order by part) as parts from person_keys
               where destroyed_at > now() - make_interval(mins => $1) and ${isNotMigrating('company_id')} group by company_id, subject) as lately
         group by company_id, parts`,
}

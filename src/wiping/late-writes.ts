import type { Pool } from 'pg'
import type { Part } from '#domain/personal-data.ts'
import { staysHere } from '#ledger/move.ts'
import { notInMove } from '#postgres/in-move.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { wipePerson } from './wipe-person.ts'

/** For so long whatever was under way when a person was forgotten may still write what it knew: an upload, a delivery, an answer whose commit was in doubt. */
const UNDER_WAY_MINUTES = 25

/** How often it is looked for, so that each person is looked for twice at least. */
export const LATE_WRITES_EVERY_MS = 600_000

/** Wipes once more who was forgotten lately, for what others have written meanwhile from what they had in memory (PRIV-37). */
export async function wipeLateWrites(pool: Pool): Promise<void> {
  const { rows } = await pool.query<Lately>({ ...FIND_LATELY, values: [UNDER_WAY_MINUTES] })
  for (const { company_id, parts, subjects } of rows)
    await inTransaction(pool, async (tx) => {
      if (await staysHere(tx, company_id)) await wipePerson(tx, company_id, { subjects, parts })
    })
}

interface Lately {
  readonly company_id: number
  readonly parts: readonly Part[]
  readonly subjects: readonly string[]
}

/** Subjects of a company of which the same was forgotten, together. */
const FIND_LATELY = {
  name: 'find_lately_forgotten',
  text: `select company_id, parts, array_agg(subject) as subjects
         from (select company_id, subject, array_agg(part order by part) as parts from person_keys
               where destroyed_at > now() - make_interval(mins => $1) and ${notInMove('company_id')} group by company_id, subject) as lately
         group by company_id, parts`,
}

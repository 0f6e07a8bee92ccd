import type { Pool } from 'pg'
import { isOpen } from '#background/records-events.ts'
import { type InTurnOptions, workInTurn } from '#background/round-robin.ts'
import type { PersonPart } from '#domain/personal-data.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { erasePerson } from './erase-person.ts'

/**
 * Longest time after an erasure in which work in progress may still write the person's data: an upload, a delivery, a
 * commit in doubt.
 */
const UNDER_WAY_MINUTES = 25

/** Interval of the search, so that each person is covered at least twice. */
export const LATE_WRITES_EVERY_MS = 600_000

/** Persons per transaction. Each one scans all short-lived data of the company. */
const SLICE = 500

/** Repeats recent erasures, for data that concurrent work wrote from memory meanwhile (PRIV-37). */
export async function eraseLateWrites(pool: Pool, options: InTurnOptions): Promise<void> {
  const { rows } = await pool.query<Lately>({ ...FIND_LATELY, values: [UNDER_WAY_MINUTES] })
  const waiting = new Map<number, Lately[]>()
  for (const { company_id } of rows) waiting.set(company_id, [])
  for (const lately of rows) waiting.get(lately.company_id)?.push(...slicesOf(lately))
  const slice = async (companyId: number): Promise<'more' | 'done'> => {
    const slices = waiting.get(companyId) as Lately[]
    const { parts, subjects } = slices.shift() as Lately
    await inTransaction(pool, (tx) => erasePerson(tx, companyId, { subjects, parts }))
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

/** Groups the subjects of a company by erased parts. */
const FIND_LATELY = {
  name: 'find_lately_forgotten',
  text: `select company_id, parts, array_agg(subject) as subjects
         from (select company_id, subject, array_agg(part order by part) as parts from person_keys
               where destroyed_at > now() - make_interval(mins => $1) and ${isOpen('company_id')} group by company_id, subject) as lately
         group by company_id, parts`,
}

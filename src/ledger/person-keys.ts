import type { Part } from '#domain/personal-data.ts'
import { byPk, type Ref, table } from './table.ts'
import type { Changes } from './working-set.ts'

/** The key of one part of a person. Of a part that was forgotten the row stays: nobody makes another key for it. */
export interface PersonKey {
  company_id: number
  /** As `customer/9`. */
  subject: string
  part: Part
  key_id: string
  /** Sealed by the vault under `person_key/{key_id}`; null once destroyed. */
  wrapped: Buffer | null
  created_at: string
  destroyed_at: string | null
}

/** Found under the lock of the company's ledger: nobody else makes or destroys a key of the company meanwhile. */
export const personKeys = table<PersonKey>('person_keys', {
  columns: {
    company_id: 'bigint',
    subject: 'text',
    part: 'text',
    key_id: 'uuid',
    wrapped: 'bytea',
    created_at: 'timestamptz',
    destroyed_at: 'timestamptz',
  },
  keys: { pk: ['company_id', 'subject', 'part'] },
})

/** The keys of these parts of persons, to be loaded before they are used or destroyed. */
export const keysOf = (subjects: readonly string[], parts: readonly Part[]): Ref<PersonKey>[] =>
  subjects.flatMap((subject) => parts.map((part) => byPk(personKeys, subject, part)))

/** What a key that is destroyed before it was ever made is called, and when that is (UTC). */
interface Destroying {
  readonly newId: () => string
  readonly now: string
}

/**
 * Ends the keys of these parts of persons (`keysOf` them are loaded): what they have sealed is null from now on, and nothing
 * is sealed for them again, also where there was no key yet. What is destroyed already stays so.
 */
export function destroyKeys(
  rows: Changes,
  companyId: number,
  subjects: readonly string[],
  parts: readonly Part[],
  { newId, now }: Destroying,
): void {
  for (const subject of subjects) {
    for (const part of parts) {
      const key = rows.get(byPk(personKeys, subject, part))
      if (key && key.wrapped === null) continue
      const made = key ?? { company_id: companyId, subject, part, key_id: newId(), created_at: now }
      rows.put(personKeys, { ...made, wrapped: null, destroyed_at: now })
    }
  }
}

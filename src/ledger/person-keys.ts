import type { Pool } from 'pg'
import { type PersonSecret, plainId } from '#crypto/sealed-value.ts'
import type { Vault } from '#crypto/vault.ts'
import type { PersonPart } from '#domain/personal-data.ts'
import { randomBytesOf } from '#lib/random.ts'
import { byPk, type Ref, table } from './table.ts'
import type { Changes } from './working-set.ts'

/** The key of one part of a person. Of a part that was forgotten the row stays: nobody makes another key for it. */
export interface PersonKey {
  company_id: number
  /** As `customer/9`. */
  subject: string
  part: PersonPart
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
export const keysOf = (subjects: readonly string[], parts: readonly PersonPart[]): Ref<PersonKey>[] =>
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
  parts: readonly PersonPart[],
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

const BYTES = 32

const contextOf = (keyId: string): string => `person_key/${keyId}`

const unwrap = (vault: Vault, keyId: string, wrapped: Buffer): Buffer => vault.open(wrapped, contextOf(keyId))

/** The keys that one unit of work seals with. Nobody keeps them for longer, so that a forgotten one is forgotten everywhere at once. */
export interface Keychain {
  /** The key of a part of a person, made where there is none; null where it was destroyed. `keysOf` it is loaded. */
  keyOf(rows: Changes, person: Pick<PersonKey, 'company_id' | 'subject' | 'part'>, now: string): PersonSecret | null
  /** Those that it has made. */
  readonly made: readonly PersonKey[]
}

export function createKeychain(vault: Vault, newId: () => string): Keychain {
  const opened = new Map<string, PersonSecret>()
  const made: PersonKey[] = []
  const remember = (key: PersonSecret): PersonSecret => {
    opened.set(key.id, key)
    return key
  }
  return {
    made,
    keyOf(rows, { company_id, subject, part }, now) {
      const row = rows.get(byPk(personKeys, subject, part))
      if (row?.wrapped) {
        const { key_id: id, wrapped } = row
        return opened.get(id) ?? remember({ id, secret: unwrap(vault, id, wrapped) })
      }
      if (row) return null
      const id = newId()
      const secret = randomBytesOf(BYTES)
      const wrapped = vault.seal(secret, contextOf(id))
      const key = { company_id, subject, part, key_id: id, wrapped, created_at: now, destroyed_at: null }
      rows.add(personKeys, key)
      made.push(key)
      return remember({ id, secret })
    },
  }
}

/** Keys of persons in Postgres, outside of any unit of work. */
export interface PersonKeys {
  readonly vault: Vault
  /** Secrets of keys by their ids without hyphens, null of those that were destroyed; without those that are not there. */
  find(ids: readonly string[]): Promise<ReadonlyMap<string, Buffer | null>>
  /** Commits new keys at once. */
  save(keys: readonly PersonKey[]): Promise<void>
}

export function createPersonKeys(pool: Pool, vault: Vault): PersonKeys {
  return {
    vault,
    async find(ids) {
      const { rows } = await pool.query<Pick<PersonKey, 'key_id' | 'wrapped'>>({
        name: 'find_person_keys',
        text: 'select key_id, wrapped from ops.person_keys where key_id = any($1::uuid[])',
        values: [ids],
      })
      return new Map(rows.map(({ key_id, wrapped }) => [plainId(key_id), wrapped && unwrap(vault, key_id, wrapped)]))
    },
    async save(keys) {
      await pool.query({
        name: 'save_person_keys',
        text: `insert into ops.person_keys (company_id, subject, part, key_id, wrapped, created_at)
               select * from unnest($1::bigint[], $2::text[], $3::text[], $4::uuid[], $5::bytea[], $6::timestamptz[])`,
        values: [
          keys.map(({ company_id }) => company_id),
          keys.map(({ subject }) => subject),
          keys.map(({ part }) => part),
          keys.map(({ key_id }) => key_id),
          keys.map(({ wrapped }) => wrapped),
          keys.map(({ created_at }) => created_at),
        ],
      })
    },
  }
}

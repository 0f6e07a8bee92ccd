import type { Pool } from 'pg'
import { type PersonSecret, plainId } from '#crypto/sealed-value.ts'
import type { Vault } from '#crypto/vault.ts'
import type { PersonPart } from '#domain/personal-data.ts'
import { randomBytesOf } from '#lib/random.ts'
import { byPk, type Ref, table } from './table.ts'
import type { Changes } from './working-set.ts'

/** The key of one part of a person. The row of an erased part stays, so that no new key is made for it. */
export interface PersonKey {
  company_id: number
  /** For example `customer/9`. */
  subject: string
  part: PersonPart
  key_id: string
  /** Sealed by the vault under `person_key/{key_id}`; null once destroyed. */
  wrapped: Buffer | null
  created_at: string
  destroyed_at: string | null
}

/** Read under the lock of the company's ledger, which excludes concurrent creation and destruction of keys. */
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

/** Refs of the keys for these parts of persons. Load them before a key is used or destroyed. */
export const keysOf = (subjects: readonly string[], parts: readonly PersonPart[]): Ref<PersonKey>[] =>
  subjects.flatMap((subject) => parts.map((part) => byPk(personKeys, subject, part)))

/** Id for a key that is destroyed before it was created, and the time of destruction (UTC). */
interface Destroying {
  readonly newId: () => string
  readonly now: string
}

/**
 * Destroys the keys of these parts of persons (`keysOf` them are loaded). Fields sealed by them read as null, and
 * nothing is sealed for these parts again, even if there was no key yet. Idempotent.
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

/** Person keys of one unit of work. Never cached for longer, so that a destroyed key disappears everywhere at once. */
export interface Keychain {
  /**
   * The key of a part of a person; creates it if there is none, and returns null if it was destroyed. `keysOf` it is
   * loaded.
   */
  keyOf(rows: Changes, person: Pick<PersonKey, 'company_id' | 'subject' | 'part'>, now: string): PersonSecret | null
  /** Keys that this unit of work created. */
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

/** Person keys in Postgres, outside a unit of work. */
export interface PersonKeys {
  readonly vault: Vault
  /** Secrets by key id without hyphens; null for destroyed keys. Unknown ids are missing. */
  find(ids: readonly string[]): Promise<ReadonlyMap<string, Buffer | null>>
  /** Commits new keys at once. */
  save(keys: readonly PersonKey[]): Promise<void>
}

export function createPersonKeys(pool: Pick<Pool, 'query'>, vault: Vault): PersonKeys {
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

import type { Pool } from 'pg'
import { isSealed, openValue, type PersonSecret, plainId, sealedKeyId, sealValue, type Vault } from '#crypto/vault.ts'
import type { PersonPart } from '#domain/person-values.ts'
import { Unavailable } from '#lib/errors.ts'
import { drawRandomBytes } from '#lib/ids.ts'
import { companyIdOfStream, type Envelope, type NewEvent } from './command.ts'
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
export const personKeyRefs = (subjects: readonly string[], parts: readonly PersonPart[]): Ref<PersonKey>[] =>
  subjects.flatMap((subject) => parts.map((part) => byPk(personKeys, subject, part)))

/** Id for a key that is destroyed before it was created, and the time of destruction (UTC). */
interface Destroying {
  readonly newId: () => string
  readonly now: string
}

/**
 * Destroys the keys of these parts of persons (`personKeyRefs` them are loaded). Fields sealed by them read as null, and
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
   * The key of a part of a person; creates it if there is none, and returns null if it was destroyed. `personKeyRefs` it is
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
      const secret = drawRandomBytes(BYTES)
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

/** A field of an event's data that is sealed by a person's key. */
export interface PersonalField {
  /** Member names, starting at the data. */
  readonly path: readonly string[]
  readonly part: PersonPart
  /** Owner of the field: the event's subject, or a record of this kind with the id beside the field (`customer_id`, `customer.id`). */
  readonly person: 'subject' | { readonly kind: string; readonly id: string }
}

type Holder = Record<string, unknown>

/** The object that has the personal field as a member; null if there is none or the field is empty. */
function holderOf(data: object, path: readonly string[]): Holder | null {
  let holder = data as Holder
  for (let depth = 0; depth < path.length - 1; depth++) {
    const inner = holder[path[depth] as string]
    if (inner === null || inner === undefined) return null
    holder = inner as Holder
  }
  const value = holder[path.at(-1) as string]
  return value === null || value === undefined ? null : holder
}

/** Value at a path such as `customer.id`; null below a null member. */
export function valueAt(holder: Holder, path: string): unknown {
  let value: unknown = holder
  for (const name of path.split('.')) {
    if (value === null) return null
    value = (value as Holder | undefined)?.[name]
  }
  return value
}

/** False if the event says that the named person has no record (a null id): the field is then stored in clear. */
const hasOwner = ({ person }: PersonalField, holder: Holder): boolean =>
  person === 'subject' || valueAt(holder, person.id) !== null

/**
 * Subject of the person whose key seals a field, such as `customer/9`. @throws Error if the event does not identify the
 * person.
 */
function ownerOf({ type, subject }: Pick<NewEvent, 'type' | 'subject'>, field: PersonalField, holder: Holder): string {
  if (field.person === 'subject') return subject
  const id = valueAt(holder, field.person.id)
  if (typeof id !== 'number') throw new Error(`${type}: no id for the person of ${field.path.join('.')}`)
  return `${field.person.kind}/${id}`
}

const kindOf = ({ subject }: Pick<NewEvent, 'subject'>, { person }: PersonalField): string =>
  person === 'subject' ? subject.slice(0, subject.indexOf('/')) : person.kind

/** Sets a value at a path in the copy. Objects still shared with the original are copied first. */
function replace(copy: Holder, original: object, path: readonly string[], value: unknown): void {
  let [to, from] = [copy, original as Holder]
  for (let depth = 0; depth < path.length - 1; depth++) {
    const name = path[depth] as string
    if (to[name] === from[name]) to[name] = { ...(from[name] as Holder) }
    to = to[name] as Holder
    from = from[name] as Holder
  }
  to[path.at(-1) as string] = value
}

/** The event's data with non-empty personal fields replaced. Returns the same object if nothing changes. */
function withPersonal(
  event: Pick<NewEvent, 'type' | 'subject' | 'data'>,
  fields: readonly PersonalField[],
  change: (value: unknown, field: PersonalField, holder: Holder) => unknown,
): object {
  let copy: Holder | null = null
  for (const field of fields) {
    const holder = holderOf(event.data, field.path)
    if (!holder) continue
    const before = holder[field.path.at(-1) as string]
    const after = change(before, field, holder)
    if (after === before) continue
    copy ??= { ...event.data }
    replace(copy, event.data, field.path, after)
  }
  return copy ?? event.data
}

/** The event's data with all personal fields, sealed or clear, replaced by a text. */
export const maskPersonalData = (event: Envelope, fields: readonly PersonalField[], instead: string): object =>
  withPersonal(event, fields, () => instead)

/** The data of an opened event, with null for personal fields of kinds that may not be read. */
export const readableData = (
  event: Pick<NewEvent, 'type' | 'subject' | 'data'>,
  fields: readonly PersonalField[],
  mayRead: (kind: string) => boolean,
): object => withPersonal(event, fields, (value, field) => (mayRead(kindOf(event, field)) ? value : null))

const placeOf = (eventId: string, { path }: PersonalField): string => `${eventId}/${path.join('.')}`

/** Subjects and parts of the persons with keys that seal an event, without duplicates. */
export function listKeyOwners(
  event: NewEvent,
  fields: readonly PersonalField[],
): (readonly [subject: string, part: PersonPart])[] {
  const owners = new Map<string, readonly [string, PersonPart]>()
  for (const field of fields) {
    const holder = holderOf(event.data, field.path)
    if (!holder || !hasOwner(field, holder)) continue
    const owner = ownerOf(event, field, holder)
    owners.set(`${owner}/${field.part}`, [owner, field.part])
  }
  return [...owners.values()]
}

/** Data in sealed and in clear form, both without fields of parts with a destroyed key. */
export function sealData(
  event: NewEvent,
  eventId: string,
  fields: readonly PersonalField[],
  keyOf: (subject: string, part: PersonPart) => PersonSecret | null,
): { readonly stored: object; readonly opened: object } {
  const keyFor = (field: PersonalField, holder: Holder) => keyOf(ownerOf(event, field, holder), field.part)
  const opened = withPersonal(event, fields, (value, field, holder) =>
    !hasOwner(field, holder) || keyFor(field, holder) ? value : null,
  )
  const stored = withPersonal(event, fields, (value, field, holder) => {
    if (!hasOwner(field, holder)) return value
    const key = keyFor(field, holder)
    return key && sealValue(value, key, placeOf(eventId, field))
  })
  return { stored, opened }
}

/** Ids of the keys that seal an event. */
export function listSealingKeys(event: Envelope, fields: readonly PersonalField[]): string[] {
  const ids: string[] = []
  for (const { path } of fields) {
    const value = holderOf(event.data, path)?.[path.at(-1) as string]
    const id = isSealed(value) ? sealedKeyId(value) : null
    if (id !== null) ids.push(id)
  }
  return ids
}

/** A key that seals fields, and its owner. */
export interface Sealer {
  /** Without hyphens. */
  readonly keyId: string
  /** For example `customer/9`. */
  readonly subject: string
  readonly part: PersonPart
}

/** Keys that seal an event, with their owners. */
export function listSealers(event: Envelope, fields: readonly PersonalField[]): Sealer[] {
  const sealers: Sealer[] = []
  for (const field of fields) {
    const holder = holderOf(event.data, field.path)
    const value = holder?.[field.path.at(-1) as string]
    const keyId = isSealed(value) ? sealedKeyId(value) : null
    if (holder && keyId !== null) sealers.push({ keyId, subject: ownerOf(event, field, holder), part: field.part })
  }
  return sealers
}

/**
 * A sealed field cannot be read: it or its key was altered, or the key is missing. Not to be confused with an erased
 * field.
 */
export class CannotOpen extends Error {
  override readonly name = 'CannotOpen'
  readonly stream: string
  constructor({ type, stream, revision }: Envelope, { path }: PersonalField, why: string, options?: ErrorOptions) {
    super(`${path.join('.')} of ${type} (${stream}, revision ${revision}) cannot be opened: ${why}`, options)
    this.stream = stream
  }
}

const NOT_SEALED = 'it is nothing that was sealed'

interface OpenOptions {
  /** Whether fields of a kind of person may be read; absent: all kinds. */
  readonly mayRead?: ((kind: string) => boolean) | undefined
  /** Called for a field that cannot be opened, which then reads as null. Without it the error is thrown. */
  readonly onCannotOpen?: ((error: CannotOpen) => void) | undefined
}

/**
 * Data with personal fields in clear: null if their key was destroyed or `mayRead` refuses the owner's kind. @throws
 * CannotOpen
 */
export function openData(
  event: Envelope,
  fields: readonly PersonalField[],
  secrets: ReadonlyMap<string, Buffer | null>,
  { mayRead, onCannotOpen }: OpenOptions = {},
): object {
  const cannot = (field: PersonalField, why: string, options?: ErrorOptions): null => {
    const error = new CannotOpen(event, field, why, options)
    if (!onCannotOpen) throw error
    onCannotOpen(error)
    return null
  }
  return withPersonal(event, fields, (value, field, holder) => {
    if (mayRead?.(kindOf(event, field)) === false) return null
    if (!hasOwner(field, holder)) return value
    if (!isSealed(value)) return cannot(field, NOT_SEALED)
    const id = sealedKeyId(value)
    if (id === null) return cannot(field, NOT_SEALED)
    const secret = secrets.get(id)
    if (secret === undefined) return cannot(field, `key ${id} is not there`)
    if (secret === null) return null
    try {
      return openValue(value, secret, placeOf(event.id, field))
    } catch (error) {
      return cannot(field, 'it was changed', { cause: error })
    }
  })
}

/**
 * Why a company is read-only, as stored in `ops.ledgers`. `pending`: events with unreadable fields are not applied;
 * `blank`: the tables were rebuilt with these fields empty.
 */
export type MissingKeys = 'pending' | 'blank'

/** The company is read-only until its person keys are restored or declared lost. */
export class KeysMissing extends Unavailable {
  constructor(companyId: number) {
    super(`company ${companyId} is read-only: fields of its ledger cannot be opened with the keys in ops.person_keys`)
  }
}

/**
 * Makes the company of a CannotOpen error read-only. True if it was not before, `known` if it was. False for any other
 * error.
 */
export async function blockFor(error: unknown, pool: Pool): Promise<boolean | 'known'> {
  if (!(error instanceof CannotOpen)) return false
  const { rows } = await pool.query<{ is_new: boolean }>(BLOCK, [companyIdOfStream(error.stream)])
  return rows[0] ? rows[0].is_new || 'known' : false
}

const BLOCK = `
  with blocked as (
    update ops.ledgers set missing_keys = 'pending' where company_id = $1 and missing_keys is null returning company_id)
  select exists (select from blocked) as is_new from ops.ledgers where company_id = $1`

/** Companies in state `pending`: their tables lack the last events only. */
export async function companiesPending(pool: Pool): Promise<readonly number[]> {
  const { rows } = await pool.query<{ company_id: number }>(
    `select company_id from ops.ledgers where missing_keys = 'pending' order by company_id`,
  )
  return rows.map(({ company_id }) => company_id)
}

/** Runs after all events of a company were applied. */
export async function unblock(pool: Pool, companyId: number, from: MissingKeys): Promise<void> {
  await pool.query('update ops.ledgers set missing_keys = null where company_id = $1 and missing_keys = $2', [
    companyId,
    from,
  ])
}

export async function loadMissingKeys(pool: Pool, companyId: number): Promise<MissingKeys | null> {
  const { rows } = await pool.query<{ missing_keys: MissingKeys | null }>(
    'select missing_keys from ops.ledgers where company_id = $1',
    [companyId],
  )
  return rows[0]?.missing_keys ?? null
}

export async function companiesWithMissingKeys(pool: Pool): Promise<readonly number[]> {
  const { rows } = await pool.query<{ company_id: number }>({
    name: 'companies_with_missing_keys',
    text: 'select company_id from ops.ledgers where missing_keys is not null order by company_id limit 1000',
  })
  return rows.map(({ company_id }) => company_id)
}

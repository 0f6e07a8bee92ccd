import { isSealed, openValue, type PersonSecret, sealedKeyId, sealValue } from '#crypto/sealed-value.ts'
import type { PersonPart } from '#domain/personal-data.ts'
import type { Envelope, NewEvent } from './envelope.ts'

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
export const maskedData = (event: Envelope, fields: readonly PersonalField[], instead: string): object =>
  withPersonal(event, fields, () => instead)

const placeOf = (eventId: string, { path }: PersonalField): string => `${eventId}/${path.join('.')}`

/** Subjects and parts of the persons with keys that seal an event, without duplicates. */
export function ownersOf(
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

/** Data in sealed and in clear form, both without fields of parts with a destroyed key (LEDGER-41). */
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
export function sealedWith(event: Envelope, fields: readonly PersonalField[]): string[] {
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
export function sealersOf(event: Envelope, fields: readonly PersonalField[]): Sealer[] {
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

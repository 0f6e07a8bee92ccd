import { isSealed, openValue, type PersonSecret, sealedKeyId, sealValue } from '#crypto/sealed-value.ts'
import type { PersonPart } from '#domain/personal-data.ts'
import type { Envelope, NewEvent } from './envelope.ts'

/** A field of an event's data that is stored sealed with the key of a person. */
export interface PersonalField {
  /** Names of members, from the data down. */
  readonly path: readonly string[]
  readonly part: PersonPart
  /** Whose it is: the event's subject, or the record of a kind whose id is in a member beside the field. */
  readonly whose: 'subject' | { readonly kind: string; readonly id: string }
}

type Holder = Record<string, unknown>

/** The object whose member is a personal field; null where the data have none, or nothing is in it. */
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

/** The subject of whose key seals a field, as `customer/9`. @throws Error where the event does not say who that is. */
function ownerOf({ type, subject }: Pick<NewEvent, 'type' | 'subject'>, field: PersonalField, holder: Holder): string {
  if (field.whose === 'subject') return subject
  const id = holder[field.whose.id]
  if (typeof id !== 'number') throw new Error(`${type} does not say whose its ${field.path.join('.')} is`)
  return `${field.whose.kind}/${id}`
}

const kindOf = ({ subject }: Pick<NewEvent, 'subject'>, { whose }: PersonalField): string =>
  whose === 'subject' ? subject.slice(0, subject.indexOf('/')) : whose.kind

/** Puts another value into the copy of some data; of what both still share it changes copies. */
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

/** The event's data with other values in personal fields that are not empty; themselves where all stay as they are. */
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

/** Data with another text in the place of everything personal that they say, sealed or in clear. */
export const maskedData = (event: Envelope, fields: readonly PersonalField[], instead: string): object =>
  withPersonal(event, fields, () => instead)

const placeOf = (eventId: string, { path }: PersonalField): string => `${eventId}/${path.join('.')}`

/** Whose keys seal an event, by subject and part, each once. */
export function ownersOf(
  event: NewEvent,
  fields: readonly PersonalField[],
): (readonly [subject: string, part: PersonPart])[] {
  const owners = new Map<string, readonly [string, PersonPart]>()
  for (const field of fields) {
    const holder = holderOf(event.data, field.path)
    if (!holder) continue
    const owner = ownerOf(event, field, holder)
    owners.set(`${owner}/${field.part}`, [owner, field.part])
  }
  return [...owners.values()]
}

/** Data as they are stored, and as they are read again: without what belongs to a part whose key was destroyed (LEDGER-41). */
export function sealData(
  event: NewEvent,
  eventId: string,
  fields: readonly PersonalField[],
  keyOf: (subject: string, part: PersonPart) => PersonSecret | null,
): { readonly stored: object; readonly opened: object } {
  const keyFor = (field: PersonalField, holder: Holder) => keyOf(ownerOf(event, field, holder), field.part)
  const opened = withPersonal(event, fields, (value, field, holder) => (keyFor(field, holder) ? value : null))
  const stored = withPersonal(event, fields, (value, field, holder) => {
    const key = keyFor(field, holder)
    return key && sealValue(value, key, placeOf(eventId, field))
  })
  return { stored, opened }
}

/** Ids of the keys that an event is sealed with. */
export function sealedWith(event: Envelope, fields: readonly PersonalField[]): string[] {
  const ids: string[] = []
  for (const { path } of fields) {
    const value = holderOf(event.data, path)?.[path.at(-1) as string]
    const id = isSealed(value) ? sealedKeyId(value) : null
    if (id !== null) ids.push(id)
  }
  return ids
}

/** A key by which fields are sealed, and whose it is. */
export interface Sealer {
  /** Without hyphens. */
  readonly keyId: string
  /** As `customer/9`. */
  readonly subject: string
  readonly part: PersonPart
}

/** The same with whose they are. */
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

/** A sealed field cannot be read: it or its key was changed, or the key is not there. Nobody takes that for something forgotten. */
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
  /** Whether fields of a kind of person may be read; absent: all of them. */
  readonly mayRead?: ((kind: string) => boolean) | undefined
  /** Hears of a field that cannot be opened, which is then read as null. Without it the failure is thrown. */
  readonly onCannotOpen?: ((error: CannotOpen) => void) | undefined
}

/** Data with personal fields in clear: null if their key was destroyed or `mayRead` refuses the owner's kind. @throws CannotOpen */
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
  return withPersonal(event, fields, (value, field) => {
    if (mayRead?.(kindOf(event, field)) === false) return null
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

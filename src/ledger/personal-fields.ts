import type { Part } from '#domain/personal-data.ts'
import type { NewEvent } from './envelope.ts'

/** A field of an event's data that is stored sealed with the key of a person. */
export interface PersonalField {
  /** Names of members, from the data down. */
  readonly path: readonly string[]
  readonly part: Part
  /** Whose it is: the event's subject, or the record of a kind whose id is in a member beside the field. */
  readonly whose: 'subject' | { readonly kind: string; readonly id: string }
}

type Holder = Readonly<Record<string, unknown>>

/** The object that has a personal field as its last member; null where the data hold none, or nothing is in it. */
export function holderOf(data: object, { path }: PersonalField): Holder | null {
  let holder: unknown = data
  for (let depth = 0; depth < path.length - 1; depth++) {
    holder = (holder as Holder)[path[depth] as string]
    if (holder === null || holder === undefined) return null
  }
  const value = (holder as Holder)[path.at(-1) as string]
  return value === null || value === undefined ? null : (holder as Holder)
}

/** The subject of whose key seals a field, as `customer/9`. @throws Error where the event names a person without saying who it is. */
export function ownerOf(
  event: Pick<NewEvent, 'type' | 'subject'>,
  { path, whose }: PersonalField,
  holder: Holder,
): string {
  if (whose === 'subject') return event.subject
  const id = holder[whose.id]
  if (typeof id !== 'number') throw new Error(`${event.type} does not say whose its ${path.join('.')} is`)
  return `${whose.kind}/${id}`
}

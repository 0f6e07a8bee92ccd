import { PERSON_PARTS, type PersonPart } from '#domain/person-values.ts'
import { RECORD_KINDS, type RecordKind } from '#domain/record-values.ts'
import { EVENT_TYPES, type EventName, personalFieldsOf } from '#events/catalogue.ts'
import { kindsOf } from '#events/event-definitions.ts'
import type { PersonalField } from '#ledger/sealed-fields.ts'

/**
 * Personal field of an event in the records that show it: `path` starts at the record, and `*` is each element of a
 * list.
 */
export type PersonalMember = PersonalField

type Path = readonly string[]
type Json = Record<string, unknown>

/** Members of the record that show the fields of an event; by default the record itself. */
const SHOWN_IN: { readonly [N in EventName]?: readonly Path[] } = {
  PaymentRecorded: [['payment'], ['payments', '*']],
}

const fieldsOf = personalFieldsOf(EVENT_TYPES)

function membersOf(kind: RecordKind): PersonalMember[] {
  const members = new Map<string, PersonalMember>()
  for (const [type, declared] of Object.entries(EVENT_TYPES)) {
    if (!kindsOf(declared).includes(kind)) continue
    for (const { path, ...mark } of fieldsOf({ type, version: declared.version }))
      for (const place of SHOWN_IN[type as EventName] ?? [[]]) {
        const shown = [...place, ...(path[0] === 'changes' ? path.slice(1) : path)]
        members.set(shown.join('.'), { path: shown, ...mark })
      }
  }
  return [...members.values()]
}

/** Personal members of each kind of record, as marked in the event catalogue. */
export const PERSONAL_MEMBERS: ReadonlyMap<RecordKind, readonly PersonalMember[]> = new Map(
  RECORD_KINDS.map((kind) => [kind, membersOf(kind)]),
)

/** Personal members about the record's own person, of these parts. */
export const ownMembers = (kind: RecordKind, parts: readonly PersonPart[] = PERSON_PARTS): readonly PersonalMember[] =>
  (PERSONAL_MEMBERS.get(kind) ?? []).filter(({ person, part }) => person === 'subject' && parts.includes(part))

/** The objects at a path. */
export function* holdersAt(value: unknown, [name, ...rest]: Path): Iterable<Json> {
  if (name === '*') {
    if (Array.isArray(value)) for (const element of value) yield* holdersAt(element, rest)
  } else if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    if (name === undefined) yield value as Json
    else yield* holdersAt((value as Json)[name], rest)
  }
}

/** Sets personal members of a record to null. Returns whether any of them had a value. */
export function eraseMembers(record: object, members: readonly Pick<PersonalMember, 'path'>[]): boolean {
  let isChanged = false
  for (const { path } of members)
    for (const holder of holdersAt(record, path.slice(0, -1))) {
      const name = path.at(-1) as string
      if (holder[name] === undefined || holder[name] === null) continue
      holder[name] = null
      isChanged = true
    }
  return isChanged
}

/** Copy of a record without these parts of its own person. */
export function withoutParts<T extends object>(
  kind: RecordKind,
  record: T,
  parts: readonly PersonPart[] = PERSON_PARTS,
): T {
  const copy = structuredClone(record)
  eraseMembers(copy, ownMembers(kind, parts))
  return copy
}

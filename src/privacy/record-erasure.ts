import { PERSON_KINDS, type PersonKind, type PersonPart } from '#domain/personal-data.ts'
import type { RecordKind } from '#domain/record-kinds.ts'
import { valueAt } from '#ledger/personal-fields.ts'
import { parseSubject } from '#ledger/projection.ts'
import type { TextErasure } from '#ledger/text-erasure.ts'
import { isJsonObject } from '#lib/json-members.ts'
import {
  eraseMembers,
  holdersAt,
  ownMembers,
  PERSONAL_MEMBERS,
  type PersonalMember,
} from '#projections/personal-members.ts'

/** Subjects and parts of an erasure. */
export interface ErasedPerson {
  /** As in `PersonForgotten`: `customer/9`, and that customer's orders, `order/5`. */
  readonly subjects: readonly string[]
  readonly parts: readonly PersonPart[]
}

type Json = Record<string, unknown>

/** Recognizes records of persons by members that no other object has. */
const RECORDS: Readonly<Record<PersonKind, (object: Json) => boolean>> = {
  customer: (object) => 'person_type' in object && !('trade_name' in object),
  supplier: (object) => 'person_type' in object && 'trade_name' in object,
  user: (object) => 'role' in object && 'email' in object,
  order: (object) => 'provider_reference' in object,
}

/** Member that names the person of another record, by an id beside it. */
interface PersonName {
  readonly path: readonly string[]
  readonly part: PersonPart
  readonly kind: string
  readonly id: string
}

/** The buyer of an order may be a customer. */
function namesIn(kind: RecordKind, { path, part, person }: PersonalMember): PersonName[] {
  if (person !== 'subject') return [{ path, part, ...person }]
  return kind === 'order' && path[0] === 'customer' ? [{ path, part, kind: 'customer', id: 'id' }] : []
}

const NAMES = [...PERSONAL_MEMBERS].flatMap(([kind, members]) => members.flatMap((member) => namesIn(kind, member)))

/**
 * Recognizes records by their members, as projections write them, and persons by id: `{id: 9, person_type, document,
 * …}` is a customer, with `trade_name` a supplier. It never compares values (PRIV-31).
 */
export function textErasureOf({ subjects, parts }: ErasedPerson): TextErasure {
  const wanted = new Set(subjects)
  const ids = [...new Set(subjects.map((subject) => parseSubject(subject).id))]
  const is = (kind: string, id: unknown): boolean => wanted.has(`${kind}/${id}`)

  function visit(value: unknown, found: Finding): void {
    if (Array.isArray(value)) for (const element of value) visit(element, found)
    if (!isJsonObject(value)) return
    const note = (isChanged: boolean) => {
      found.isAbout = true
      found.isChanged ||= isChanged
    }
    for (const kind of PERSON_KINDS)
      if (RECORDS[kind](value) && is(kind, value.id)) note(eraseMembers(value, ownMembers(kind, parts)))
    for (const { path, part, kind, id } of NAMES)
      for (const holder of holdersAt(value, path.slice(0, -1)))
        if (is(kind, valueAt(holder, id)))
          note(parts.includes(part) && eraseMembers(holder, [{ path: path.slice(-1) }]))
    for (const member of Object.values(value)) visit(member, found)
  }

  return {
    needles: ids.flatMap((id) => [`id":${id},`, `id":${id}}`]),
    redact(text) {
      const found = { isAbout: false, isChanged: false }
      const json = parsed(text)
      visit(json, found)
      return { isAbout: found.isAbout, text: found.isChanged ? JSON.stringify(json) : null }
    },
  }
}

interface Finding {
  isAbout: boolean
  isChanged: boolean
}

/** Null if the text is not JSON: a response may be empty. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

import type { PersonPart } from '#domain/personal-data.ts'
import { parseSubject } from '#ledger/projection.ts'
import type { TextErasure } from '#ledger/text-erasure.ts'

/** Subjects and parts of an erasure. */
export interface ErasedPerson {
  /** As in `PersonForgotten`: `customer/9`, and that customer's orders, `order/5`. */
  readonly subjects: readonly string[]
  readonly parts: readonly PersonPart[]
}

type Fields = Readonly<Record<PersonPart, readonly string[]>>
type Json = Record<string, unknown>

const PERSON: Fields = { identity: ['name', 'trade_name', 'document', 'address'], contact: ['phone', 'email', 'notes'] }
const BUYER: Fields = { identity: ['name', 'document'], contact: ['email'] }
const USER: Fields = { identity: ['name', 'email'], contact: [] }
const CARD: Fields = { identity: ['last_four'], contact: [] }
const SLIP: Fields = { identity: [], contact: ['ticket_url'] }

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
    if (!isObject(value)) return
    for (const [object, fields] of placesIn(value, is)) {
      found.isAbout = true
      for (const field of parts.flatMap((part) => fields[part])) {
        if (object[field] === undefined || object[field] === null) continue
        object[field] = null
        found.isChanged = true
      }
    }
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

/** Objects with personal fields of the persons: the object itself and its direct members. */
function* placesIn(object: Json, is: (kind: string, id: unknown) => boolean): Iterable<[object: Json, fields: Fields]> {
  const { id } = object
  if ('person_type' in object && is('trade_name' in object ? 'supplier' : 'customer', id)) yield [object, PERSON]
  if ('role' in object && 'email' in object && is('user', id)) yield [object, USER]
  if ('provider_reference' in object && is('order', id)) yield* placesOfOrder(object)
  const { customer } = object
  if (isObject(customer) && is('customer', customer.id)) yield [customer, BUYER]
  if (is('customer', object.customer_id)) yield [object, { identity: ['customer_name'], contact: [] }]
  if (is('supplier', object.supplier_id)) yield [object, { identity: ['supplier_name'], contact: [] }]
}

function* placesOfOrder({ customer, payments, payment }: Json): Iterable<[object: Json, fields: Fields]> {
  if (isObject(customer)) yield [customer, BUYER]
  for (const made of [payment, ...(Array.isArray(payments) ? payments : [])]) {
    if (!isObject(made)) continue
    if (isObject(made.card)) yield [made.card, CARD]
    for (const slip of [made.pix, made.boleto]) if (isObject(slip)) yield [slip, SLIP]
  }
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Null if the text is not JSON: a response may be empty. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

import { formatQuantity } from '#domain/brazilian-format.ts'
import type { Envelope } from '#ledger/envelope.ts'
import { isJsonObject } from '#lib/json-members.ts'
import { fieldName } from './words/fields.ts'
import { textOfBoolean, textOfValue } from './words/values.ts'

/** One changed field in display texts; null for an absent value. */
export interface Change {
  readonly field: string
  readonly before: string | null
  readonly after: string | null
}

/** Limit of displayed changes; the raw form has all of them. */
const MOST = 200
/** Fields omitted from changes, because every record has them. */
const SELF_EVIDENT = new Set(['updated_at', 'company_id'])

type Json = Readonly<Record<string, unknown>>

const isEmpty = (value: unknown): boolean => value === null || value === undefined || value === ''

function plainText(name: string, value: unknown, timezone: string): string {
  if (typeof value === 'boolean') return textOfBoolean(name, value)
  return textOfValue(name, String(value), timezone)
}

/** Texts of all values by their path: `Itens 2 · Preço unitário`. */
function* leaves(
  path: string,
  name: string,
  value: unknown,
  timezone: string,
): Iterable<[field: string, text: string]> {
  if (isEmpty(value)) return
  if (isJsonObject(value)) {
    for (const [member, inner] of Object.entries(value))
      yield* leaves(path === '' ? fieldName(member) : `${path} · ${fieldName(member)}`, member, inner, timezone)
  } else if (Array.isArray(value)) {
    if (!value.some((one) => typeof one === 'object' && one !== null)) {
      if (value.length > 0) yield [path, value.map((one) => plainText(name, one, timezone)).join(', ')]
    } else for (const [at, one] of value.entries()) yield* leaves(`${path} ${at + 1}`, name, one, timezone)
  } else yield [path, plainText(name, value, timezone)]
}

const textsOf = (value: object | null, timezone: string): Map<string, string> => {
  const members = Object.entries(value ?? {}).filter(([name]) => !SELF_EVIDENT.has(name))
  return new Map(leaves('', '', Object.fromEntries(members), timezone))
}

/** Most lines of a sale or order that are named; the raw form has all of them. */
const NAMED_LINES = 10

interface NamedLine {
  readonly description: string
  readonly quantity: string
}

const isNamedLine = (value: unknown): value is NamedLine =>
  isJsonObject(value) && typeof value.description === 'string' && typeof value.quantity === 'string'

/** `3 itens: Café torrado (1), Leite (2), Pão francês (0,392)`, for lines of a sale or order. */
function inOneLine(value: unknown): unknown {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isNamedLine)) return value
  const named = value
    .slice(0, NAMED_LINES)
    .map(({ description, quantity }) => `${description} (${formatQuantity(quantity)})`)
  const more = value.length > NAMED_LINES ? ` e mais ${value.length - NAMED_LINES}` : ''
  return `${value.length === 1 ? '1 item' : `${value.length} itens`}: ${named.join(', ')}${more}`
}

/** Differences between two states of a record, by field; null before its creation. */
export function describeChanges(before: Json | null, after: Json | null, timezone: string): Change[] {
  // Where there are no earlier lines, no single value of one can have changed.
  const added = Object.entries(after ?? {}).map(([name, value]) => [
    name,
    isEmpty(before?.[name]) ? inOneLine(value) : value,
  ])
  const [then, now] = [textsOf(before, timezone), textsOf(Object.fromEntries(added), timezone)]
  return [...new Set([...then.keys(), ...now.keys()])]
    .map((field) => ({ field, before: then.get(field) ?? null, after: now.get(field) ?? null }))
    .filter((change) => change.before !== change.after)
    .slice(0, MOST)
}

/** Data of an event in display texts, without the id of its record. */
export function describeEventData({ data }: Pick<Envelope, 'data'>, timezone: string): Change[] {
  const { id: _, ...fields } = data as Json
  const { changes, ...more } = fields
  return describeChanges(null, { ...more, ...(isJsonObject(changes) ? changes : {}) }, timezone)
}

/** Names of the fields that an event changed. */
export function fieldsChangedBy({ data }: Pick<Envelope, 'data'>): string[] {
  const { changes } = data as Json
  return isJsonObject(changes) ? Object.keys(changes).map(fieldName) : []
}

/** Events that hold fields of their record; those of others are their own, even under the same name. */
const HOLDS_RECORD = /(Created|Registered|Invited|Revived|Placed)$/
/** A new record has no earlier values; a revived one has. */
const BEGINS_RECORD = /(Created|Registered|Invited|Placed)$/

/**
 * Fields that each event of a record changed, compared with earlier events of the record. The events must begin with
 * the first one, oldest first.
 */
export function changesOfEach(events: readonly Pick<Envelope, 'type' | 'data'>[], timezone: string): Change[][] {
  const known: Record<string, unknown> = {}
  return events.map(({ type, data }) => {
    const { id: _, changes, ...fields } = data as Json
    const after: Json = isJsonObject(changes) ? changes : HOLDS_RECORD.test(type) ? fields : {}
    const before = Object.fromEntries(Object.keys(after).map((name) => [name, known[name]]))
    Object.assign(known, after)
    return BEGINS_RECORD.test(type) ? [] : describeChanges(before, after, timezone)
  })
}

/** Members that identify something for a program: hashes, keys, ids of attempts and at the provider. */
const TECHNICAL = new Set([
  'attempt_id',
  'idempotency_key',
  'provider_payment_id',
  'provider_status',
  'refund_id',
  'provider_refund_id',
  'listed',
  'fingerprint',
  'xml_sha256',
  'offline_id',
  'receivable_ids',
  'pix',
  'boleto',
  'ids',
])

/** The event without its technical members, and these alone. */
export function splitTechnical(data: object): readonly [plain: object, technical: object] {
  const [plain, technical] = [{}, {}] as Record<string, unknown>[]
  for (const [name, value] of Object.entries(data))
    Object.assign((TECHNICAL.has(name) ? technical : plain) ?? {}, { [name]: value })
  return [plain ?? {}, technical ?? {}]
}

import * as z from 'zod'
import { invalid, type Refusal } from './refusals.ts'
import { exactText, expects, limitedText } from './text.ts'

/** Kinds of records in event subjects. */
export const RECORD_KINDS = [
  'company',
  'user',
  'api_key',
  'payment_type',
  'customer',
  'supplier',
  'category',
  'catalog_item',
  'stock_movement',
  'inventory',
  'sale',
  'return',
  'receivable',
  'payable',
  'webhook',
  'store',
  'order',
  'cash_session',
  'till',
] as const

export type RecordKind = (typeof RECORD_KINDS)[number]

/** Kinds with ids per company, from 1; ids of stock movements follow from their events. */
export type IdKind = Exclude<RecordKind, 'company' | 'stock_movement'>

export const isIdKind = (kind: string | undefined): kind is IdKind =>
  kind !== 'company' && kind !== 'stock_movement' && RECORD_KINDS.some((each) => each === kind)

const SUBJECT = new RegExp(`^(${RECORD_KINDS.join('|')})/[1-9]\\d{0,14}$`)

/** Record reference in events: `sale/9`. */
export const Subject = limitedText(60).regex(
  SUBJECT,
  `deve ser um registro como "sale/9"; tipos: ${RECORD_KINDS.join(', ')}`,
)

/** Texts that a program keeps with a record, by keys of its own; never empty. */
export type Metadata = Readonly<Record<string, string>>

const MAX_KEYS = 20
const TOO_MANY = `deve ter no máximo ${MAX_KEYS} chaves`
const KEY = 'deve ter chaves de 1 a 40 letras sem acento, números, ".", "_" ou "-"'

const Key = limitedText(40, KEY)
  .min(1, KEY)
  .regex(/^[a-zA-Z0-9_.-]+$/, KEY)

const VALUE = 'deve ser um texto de até 500 caracteres, sem caracteres de controle'
const Text = exactText(500)

/** `""` is as good as null: typed clients cannot send null. */
const Value = limitedText(1_000, VALUE)
  .refine((value) => value === '' || Text.safeParse(value).success, VALUE)
  .nullable()

/** Metadata in requests. Null and empty values remove their keys in a PATCH, and are left out elsewhere. */
export const MetadataInput = z
  .record(Key, Value, expects('deve ser um objeto de textos'))
  .refine((given) => Object.keys(given).length <= MAX_KEYS, TOO_MANY)
  .meta({ id: 'MetadataInput' })
export type MetadataInput = z.infer<typeof MetadataInput>

/** Metadata after a request; null without a key. Absent in the request: as before. Null: none. */
export function mergedMetadata(
  before: Metadata | null,
  given: MetadataInput | null | undefined,
): Metadata | null | Refusal {
  if (given === undefined) return before
  const after = Object.entries({ ...before, ...given }).filter(([, value]) => value)
  if (given === null || after.length === 0) return null
  return after.length > MAX_KEYS ? invalid('metadata', TOO_MANY) : (Object.fromEntries(after) as Metadata)
}

/** Metadata of a whole record. */
export const wholeMetadata = (given: MetadataInput | null | undefined): Metadata | null =>
  mergedMetadata(null, given) as Metadata | null

/** Member of the event of a new record; none without metadata. */
export function metadataOf({ metadata }: { readonly metadata?: MetadataInput | null | undefined }) {
  const whole = metadata ? wholeMetadata(metadata) : null
  return whole && { metadata: whole }
}

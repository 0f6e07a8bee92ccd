import * as z from 'zod'
import { isGtin } from './fiscal-values.ts'
import { type Refusal, refuseField } from './refusals.ts'
import { exactText, expects, isPlaceholderCode, limitedText, storedText, withoutInvisible } from './text.ts'

/** Without invisible characters, and a GTIN without the blanks and hyphens of labels: `789 1234 567895`. */
export function plainBarcode(text: string): string {
  const code = withoutInvisible(text)
  const digits = code.replace(/[\s-]/g, '')
  return isGtin(digits) ? digits : code
}

/** Barcode of 1 to 60 characters; what stands for none is null. */
export const Barcode = storedText(limitedText(400, 'deve ser um texto').overwrite(plainBarcode), 60).transform(
  (text) => (isPlaceholderCode(text) ? null : text),
)

/**
 * A GTIN without leading zeros, or null if the code is none: a UPC-A of 12 digits, the same as an EAN of 13 digits with a zero
 * before it, and the one that lost its zero in a spreadsheet are one product.
 */
export function gtinKey(code: string): string | null {
  if (!/^\d{11,14}$/.test(code) || !isGtin(code.padStart(14, '0'))) return null
  return code.replace(/^0+/, '')
}

/** Spellings of a code that mean the same product; only the code itself if it is no GTIN. */
export function sameBarcodes(code: string): string[] {
  const key = gtinKey(code)
  if (key === null) return [code]
  return [
    ...new Set([code, ...[11, 12, 13, 14].flatMap((length) => (key.length > length ? [] : key.padStart(length, '0')))]),
  ]
}

/** Possible mistake in a barcode, or null. `not_gtin`: not a GTIN, such as a shop's own code. */
export function barcodeProblem(barcode: string): 'wrong_check_digit' | 'not_gtin' | null {
  if (isGtin(barcode)) return null
  return /^(?:\d{8}|\d{12,14})$/.test(barcode) ? 'wrong_check_digit' : 'not_gtin'
}

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
  'goods_receipt',
  'inventory',
  'price_change',
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
export function mergeMetadata(
  before: Metadata | null,
  given: MetadataInput | null | undefined,
): Metadata | null | Refusal {
  if (given === undefined) return before
  const after = Object.entries({ ...before, ...given }).filter(([, value]) => value)
  if (given === null || after.length === 0) return null
  return after.length > MAX_KEYS ? refuseField('metadata', TOO_MANY) : (Object.fromEntries(after) as Metadata)
}

/** Metadata of a whole record. */
export const wholeMetadata = (given: MetadataInput | null | undefined): Metadata | null =>
  mergeMetadata(null, given) as Metadata | null

/** Member of the event of a new record; none without metadata. */
export function toEventMetadata({ metadata }: { readonly metadata?: MetadataInput | null | undefined }) {
  const whole = metadata ? wholeMetadata(metadata) : null
  return whole && { metadata: whole }
}

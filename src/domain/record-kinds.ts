import { limitedText } from './text.ts'

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
] as const

export type RecordKind = (typeof RECORD_KINDS)[number]

/** Kinds with ids per company, from 1 (LEDGER-9); ids of stock movements follow from their events. */
export type IdKind = Exclude<RecordKind, 'company' | 'stock_movement'>

export const isIdKind = (kind: string | undefined): kind is IdKind =>
  kind !== 'company' && kind !== 'stock_movement' && RECORD_KINDS.some((each) => each === kind)

const SUBJECT = new RegExp(`^(${RECORD_KINDS.join('|')})/[1-9]\\d{0,14}$`)

/** Record reference in events: `sale/9`. */
export const Subject = limitedText(60).regex(
  SUBJECT,
  `deve ser um registro como "sale/9"; tipos: ${RECORD_KINDS.join(', ')}`,
)

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
  'sale',
  'receivable',
  'payable',
  'webhook',
  'store',
  'order',
] as const

export type RecordKind = (typeof RECORD_KINDS)[number]

/** Kinds with ids per company, from 1 (LEDGER-9). */
export type IdKind = Exclude<RecordKind, 'company'>

export const isIdKind = (kind: string | undefined): kind is IdKind =>
  kind !== 'company' && RECORD_KINDS.some((each) => each === kind)

/** Kinds of records that have an integer id of their own; each has a Postgres sequence `ops.<kind>_ids`. */
export const ID_KINDS = [
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

export type IdKind = (typeof ID_KINDS)[number]

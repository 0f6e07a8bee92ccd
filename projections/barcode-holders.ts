import { gtinKey } from '#domain/barcode.ts'
import { byPk, type Ref, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyRef } from './companies.ts'
import { projection } from './define.ts'

/** Item that took a barcode or GTIN last, also if it has released it since: its price is what tills knew (ROLE-782). */
interface BarcodeHolderRow {
  company_id: number
  code: string
  item_id: number
}

const barcodeHolders = table<BarcodeHolderRow>('barcode_holders', {
  columns: { company_id: 'bigint', code: 'text', item_id: 'bigint' },
  keys: { pk: ['company_id', 'code'] },
})

const keyOf = (code: string): string => gtinKey(code) ?? code

export const barcodeHolderOf = (code: string): Ref<BarcodeHolderRow> => byPk(barcodeHolders, keyOf(code))

export interface Codes {
  readonly barcode?: string | null | undefined
  readonly gtin?: string | null | undefined
}

/** Spellings of one product are one code. */
export const codesOf = ({ barcode, gtin }: Codes): string[] => [
  ...new Set([barcode, gtin].flatMap((code) => (code ? [keyOf(code)] : []))),
]

const refsOf = (item: Codes) => codesOf(item).map(barcodeHolderOf)

function take(rows: Changes, item_id: number, item: Codes): void {
  const { company_id } = companyRef(rows)
  for (const code of codesOf(item)) rows.put(barcodeHolders, { company_id, code, item_id })
}

export const barcodeHoldersProjection = projection('barcode_holders', [barcodeHolders], {
  CatalogItemCreated: { refs: ({ data }) => refsOf(data), apply: (rows, { data }) => take(rows, data.id, data) },
  CatalogItemUpdated: {
    refs: ({ data }) => refsOf(data.changes),
    apply: (rows, { data }) => take(rows, data.id, data.changes),
  },
  CatalogItemRevived: { refs: ({ data }) => refsOf(data), apply: (rows, { data }) => take(rows, data.id, data) },
})

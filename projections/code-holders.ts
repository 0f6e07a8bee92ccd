import { gtinKey } from '#domain/barcode.ts'
import { byPk, type Ref, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyRef } from './companies.ts'
import { projection } from './define-projection.ts'

/** Item that took a barcode or GTIN last, also if it has released it since: its price is what tills knew (ROLE-782). */
interface BarcodeHolderRow {
  company_id: number
  code: string
  item_id: number
}

const barcodeHolders = table<BarcodeHolderRow>('barcode_holders', {
  about: 'Active items by barcode without leading zeros.',
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

const barcodeRefs = (item: Codes) => codesOf(item).map(barcodeHolderOf)

function takeBarcode(rows: Changes, item_id: number, item: Codes): void {
  const { company_id } = companyRef(rows)
  for (const code of codesOf(item)) rows.put(barcodeHolders, { company_id, code, item_id })
}

export const barcodeHoldersProjection = projection('barcode_holders', [barcodeHolders], {
  CatalogItemCreated: {
    refs: ({ data }) => barcodeRefs(data),
    apply: (rows, { data }) => takeBarcode(rows, data.id, data),
  },
  CatalogItemUpdated: {
    refs: ({ data }) => barcodeRefs(data.changes),
    apply: (rows, { data }) => takeBarcode(rows, data.id, data.changes),
  },
  CatalogItemRevived: {
    refs: ({ data }) => barcodeRefs(data),
    apply: (rows, { data }) => takeBarcode(rows, data.id, data),
  },
})

/** Active items with a GTIN: several may share one, and a new one is warned of (ITEM-12). */
interface GtinHoldersRow {
  company_id: number
  /** Without leading zeros: an EAN with a zero before it is the same product. */
  gtin: string
  /** In the order in which they took it, the first `MAX_HOLDERS` of them. */
  item_ids: readonly number[]
}

const gtinHolders = table<GtinHoldersRow>('gtin_holders', {
  about: 'Active items by GTIN without leading zeros.',
  columns: { company_id: 'bigint', gtin: 'text', item_ids: 'json' },
  keys: { pk: ['company_id', 'gtin'] },
})

/** Further items with the GTIN are not listed. One suffices for a warning. */
const MAX_HOLDERS = 50

export const gtinHoldersOf = (gtin: string): Ref<GtinHoldersRow> => byPk(gtinHolders, gtinKey(gtin) ?? gtin)

type Gtin = string | null | undefined

const gtinRefs = (...gtins: Gtin[]) => gtins.flatMap((gtin) => (gtin ? [gtinHoldersOf(gtin)] : []))

function change(rows: Changes, gtin: Gtin, idsAfter: (ids: readonly number[]) => readonly number[]): void {
  if (!gtin) return
  const ref = gtinHoldersOf(gtin)
  const [key] = ref.values as [string]
  const item_ids = idsAfter(rows.get(ref)?.item_ids ?? [])
  rows.put(gtinHolders, { company_id: companyRef(rows).company_id, gtin: key, item_ids })
}

const takeGtin = (rows: Changes, gtin: Gtin, id: number): void =>
  change(rows, gtin, (ids) => (ids.includes(id) || ids.length >= MAX_HOLDERS ? ids : [...ids, id]))

const free = (rows: Changes, gtin: Gtin, id: number): void =>
  change(rows, gtin, (ids) => ids.filter((each) => each !== id))

export const gtinHoldersProjection = projection('gtin_holders', [gtinHolders], {
  CatalogItemCreated: {
    refs: ({ data }) => gtinRefs(data.gtin),
    apply: (rows, { data }) => takeGtin(rows, data.gtin, data.id),
  },
  CatalogItemUpdated: {
    refs: ({ data }) => gtinRefs(data.former_gtin, data.changes.gtin),
    apply(rows, { data: { id, former_gtin, changes } }) {
      if (changes.gtin === undefined) return
      free(rows, former_gtin, id)
      takeGtin(rows, changes.gtin, id)
    },
  },
  CatalogItemDeactivated: {
    refs: ({ data }) => gtinRefs(data.gtin),
    apply: (rows, { data }) => free(rows, data.gtin, data.id),
  },
  CatalogItemRevived: {
    refs: ({ data }) => gtinRefs(data.gtin),
    apply: (rows, { data }) => takeGtin(rows, data.gtin, data.id),
  },
})

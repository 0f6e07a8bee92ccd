import { gtinKey } from '#domain/barcode.ts'
import { byPk, type Ref, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyRef } from './companies.ts'
import { projection } from './define.ts'

/** Active items with a GTIN: several may share one, and a new one is warned of (ITEM-12). */
interface GtinHoldersRow {
  company_id: number
  /** Without leading zeros: an EAN with a zero before it is the same product. */
  gtin: string
  /** In the order in which they took it, the first `MAX_HOLDERS` of them. */
  item_ids: readonly number[]
}

const gtinHolders = table<GtinHoldersRow>('gtin_holders', {
  columns: { company_id: 'bigint', gtin: 'text', item_ids: 'json' },
  keys: { pk: ['company_id', 'gtin'] },
})

/** Further items with the GTIN are not listed. One suffices for a warning. */
const MAX_HOLDERS = 50

export const gtinHoldersOf = (gtin: string): Ref<GtinHoldersRow> => byPk(gtinHolders, gtinKey(gtin) ?? gtin)

type Gtin = string | null | undefined

const refsOf = (...gtins: Gtin[]) => gtins.flatMap((gtin) => (gtin ? [gtinHoldersOf(gtin)] : []))

function change(rows: Changes, gtin: Gtin, idsAfter: (ids: readonly number[]) => readonly number[]): void {
  if (!gtin) return
  const ref = gtinHoldersOf(gtin)
  const [key] = ref.values as [string]
  const item_ids = idsAfter(rows.get(ref)?.item_ids ?? [])
  rows.put(gtinHolders, { company_id: companyRef(rows).company_id, gtin: key, item_ids })
}

const take = (rows: Changes, gtin: Gtin, id: number): void =>
  change(rows, gtin, (ids) => (ids.includes(id) || ids.length >= MAX_HOLDERS ? ids : [...ids, id]))

const free = (rows: Changes, gtin: Gtin, id: number): void =>
  change(rows, gtin, (ids) => ids.filter((each) => each !== id))

export const gtinHoldersProjection = projection('gtin_holders', [gtinHolders], {
  CatalogItemCreated: {
    refs: ({ data }) => refsOf(data.gtin),
    apply: (rows, { data }) => take(rows, data.gtin, data.id),
  },
  CatalogItemUpdated: {
    refs: ({ data }) => refsOf(data.former_gtin, data.changes.gtin),
    apply(rows, { data: { id, former_gtin, changes } }) {
      if (changes.gtin === undefined) return
      free(rows, former_gtin, id)
      take(rows, changes.gtin, id)
    },
  },
  CatalogItemDeactivated: {
    refs: ({ data }) => refsOf(data.gtin),
    apply: (rows, { data }) => free(rows, data.gtin, data.id),
  },
  CatalogItemRevived: {
    refs: ({ data }) => refsOf(data.gtin),
    apply: (rows, { data }) => take(rows, data.gtin, data.id),
  },
})

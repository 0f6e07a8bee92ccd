import { byPk, type Ref, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyRef } from './companies.ts'
import { projection } from './define.ts'

/** Number of active variants of an item: it is not deleted and no variant of another while it has any (ITEM-122). */
interface VariantCountRow {
  company_id: number
  item_id: number
  variants: number
}

const variantCounts = table<VariantCountRow>('variant_counts', {
  columns: { company_id: 'bigint', item_id: 'bigint', variants: 'bigint' },
  keys: { pk: ['company_id', 'item_id'] },
})

export const variantCountOf = (itemId: number): Ref<VariantCountRow> => byPk(variantCounts, itemId)

type ParentId = number | null | undefined

const refsOf = (...parents: ParentId[]) => parents.flatMap((parent) => (parent ? [variantCountOf(parent)] : []))

function count(rows: Changes, item_id: ParentId, change: 1 | -1): void {
  if (!item_id) return
  const before = rows.get(variantCountOf(item_id))?.variants ?? 0
  rows.put(variantCounts, { company_id: companyRef(rows).company_id, item_id, variants: before + change })
}

export const variantCountsProjection = projection('variant_counts', [variantCounts], {
  CatalogItemCreated: {
    refs: ({ data }) => refsOf(data.parent_id),
    apply: (rows, { data }) => count(rows, data.parent_id, 1),
  },
  CatalogItemUpdated: {
    refs: ({ data }) => refsOf(data.former_parent_id, data.changes.parent_id),
    apply(rows, { data: { former_parent_id, changes } }) {
      if (changes.parent_id === undefined) return
      count(rows, former_parent_id, -1)
      count(rows, changes.parent_id, 1)
    },
  },
  CatalogItemDeactivated: {
    refs: ({ data }) => refsOf(data.parent_id),
    apply: (rows, { data }) => count(rows, data.parent_id, -1),
  },
  CatalogItemRevived: {
    refs: ({ data }) => refsOf(data.parent_id),
    apply: (rows, { data }) => count(rows, data.parent_id, 1),
  },
})

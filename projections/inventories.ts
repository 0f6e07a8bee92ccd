import { inZone } from '#domain/instant.ts'
import type { INVENTORY_STATUSES } from '#events/inventories.ts'
import { byPk, table } from '#ledger/table.ts'
import { companyRef, timezoneOf } from './companies.ts'
import { type ChangedFields, changedColumns, existing, INDEX_BY_CHANGE, projection, stamp } from './define.ts'

export type InventoryStatus = (typeof INVENTORY_STATUSES)[number]

/** Inventory as the API returns it. */
export interface InventoryObject {
  readonly id: number
  readonly name: string
  readonly status: InventoryStatus
  /** Items that have been counted. */
  readonly counted_items: number
  readonly created_at: string
  readonly closed_at: string | null
}

interface InventoryRow extends ChangedFields {
  company_id: number
  id: number
  status: InventoryStatus
  doc: InventoryObject
}

const inventories = table<InventoryRow>('inventories', {
  columns: { company_id: 'bigint', id: 'bigint', status: 'text', ...changedColumns, doc: 'json' },
  keys: { pk: ['company_id', 'id'] },
  indexes: [INDEX_BY_CHANGE],
  past: { id: 'id' },
})

export const inventoryById = (id: number) => byPk(inventories, id)

/** What was counted of an item, and when. */
interface InventoryCountRow extends ChangedFields {
  company_id: number
  inventory_id: number
  /** Of the item. */
  id: number
  /** Null if the item was taken out again. */
  quantity: string | null
  counted_at: string
}

/** Not part of past states: the stock that a count is compared with is not either. */
const inventoryCounts = table<InventoryCountRow>('inventory_counts', {
  columns: {
    company_id: 'bigint',
    inventory_id: 'bigint',
    id: 'bigint',
    quantity: 'numeric',
    counted_at: 'timestamptz',
    ...changedColumns,
  },
  keys: { pk: ['company_id', 'inventory_id', 'id'] },
})

export const inventoryCountOf = (inventoryId: number, itemId: number) => byPk(inventoryCounts, inventoryId, itemId)

export const inventoriesProjection = projection('inventories', [inventories, inventoryCounts], {
  InventoryOpened: {
    apply(rows, event) {
      const { id, name } = event.data
      const created_at = inZone(event.recorded_at, timezoneOf(rows))
      const doc = { id, name, status: 'open' as const, counted_items: 0, created_at, closed_at: null }
      rows.add(inventories, { company_id: companyRef(rows).company_id, id, status: 'open', ...stamp(event), doc })
    },
  },
  InventoryCounted: {
    refs: ({ data: { id, counts } }) => [
      inventoryById(id),
      ...counts.map(({ catalog_item_id }) => inventoryCountOf(id, catalog_item_id)),
    ],
    apply(rows, event) {
      const { id: inventory_id, counts, counted_items } = event.data
      const { company_id } = companyRef(rows)
      for (const { catalog_item_id: id, quantity, counted_at } of counts) {
        if (rows.wants(inventoryCountOf(inventory_id, id)))
          rows.put(inventoryCounts, { company_id, inventory_id, id, quantity, counted_at, ...stamp(event) })
      }
      if (!rows.wants(inventoryById(inventory_id))) return
      const row = existing(rows, inventoryById(inventory_id))
      const doc = { ...row.doc, counted_items }
      rows.put(inventories, { ...row, ...stamp(event), doc })
    },
  },
  InventoryClosed: {
    refs: ({ data: { id } }) => [inventoryById(id)],
    apply(rows, event) {
      const { id, status } = event.data
      const row = existing(rows, inventoryById(id))
      const doc = { ...row.doc, status, closed_at: inZone(event.recorded_at, timezoneOf(rows)) }
      rows.put(inventories, { ...row, status, ...stamp(event), doc })
    },
  },
})

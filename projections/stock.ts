import { inZone } from '#domain/instant.ts'
import { fromThousandths, toThousandths } from '#domain/money.ts'
import type { INVENTORY_STATUSES, MOVEMENT_KINDS } from '#events/catalog-events.ts'
import type { EventOf } from '#events/catalogue.ts'
import type { RecordView } from '#ledger/projection.ts'
import { byPk, markTable, plainSql, table } from '#ledger/table.ts'
import type { Changes, Rows } from '#ledger/working-set.ts'
import { companyRef, getTimezone } from './companies.ts'
import {
  type ChangedFields,
  changedColumns,
  existing,
  INDEX_BY_CHANGE,
  projection,
  stamp,
} from './define-projection.ts'

/** Small row of an item that changes with every sale, apart from the item's document. */
export interface ItemStockRow extends ChangedFields {
  company_id: number
  id: number
  /** Exactly 3 decimals, negative after oversold offline sales; null for services and untracked items. */
  stock: string | null
  /** Last movement, in the company's zone; null if the stock was never tracked. */
  stock_updated_at: string | null
}

/** Revision and time are those of the last change of the item or of its stock: lists by change use this table. */
export const itemStocks = table<ItemStockRow>('item_stocks', {
  about: 'Stock of each item; null if it is not tracked.',
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    stock: 'numeric',
    stock_updated_at: 'text',
    ...changedColumns,
  },
  keys: { pk: ['company_id', 'id'] },
  indexes: [INDEX_BY_CHANGE],
  fillfactor: 70,
  past: { id: 'id', hot: ['stock', 'stock_updated_at'] },
})

export const stockById = (id: number) => byPk(itemStocks, id)

/** Stock of a loaded item; null if it does not exist or is not tracked. */
export const getStock = (rows: Rows, id: number): string | null => rows.get(stockById(id))?.stock ?? null

export type MovementKind = (typeof MOVEMENT_KINDS)[number]

/** Movement of an item's stock. Rows are only added. */
export interface StockMovementRow extends ChangedFields {
  company_id: number
  id: number
  catalog_item_id: number
  kind: MovementKind
  /** Signed; of a count the difference. */
  quantity: string
  /** Stock after the movement; null where its tracking ended. */
  balance: string | null
  unit_cost: string | null
  reason: string | null
  /** A text of the client. */
  document: string | null
  /** The record that moved the stock, as `sale/981`: never a text of a client. */
  record: string | null
  actor: string | null
  /** Of a sale its time, of an inventory the time of the counting; null if it is `changed_at`. */
  occurred_at: string | null
}

export const stockMovements = table<StockMovementRow>('stock_movements', {
  about: 'Movements of stocks with the balance after each.',
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    catalog_item_id: 'bigint',
    ...changedColumns,
    occurred_at: 'timestamptz',
    kind: 'text',
    quantity: 'numeric',
    balance: 'numeric',
    unit_cost: 'numeric',
    reason: 'text',
    document: 'text',
    record: 'text',
    actor: 'text',
  },
  keys: { pk: ['company_id', 'id'] },
  indexes: ['(company_id, catalog_item_id, id)', INDEX_BY_CHANGE],
  past: { id: 'id', isFixed: true },
  writtenWith: itemStocks,
})

export const movementById = (id: number) => byPk(stockMovements, id)

/** At most so many items are moved by an event. */
export const IDS_PER_EVENT = 1_000

/** Id of the nth movement (from 0) of an event. It follows from the event alone, and ascends in the order of the ledger. */
export const toMovementId = (revision: number, place = 0): number => (revision + 1) * IDS_PER_EVENT + place

export interface StockMove {
  catalog_item_id: number
  quantity: string
}

/** Stock movements of sale lines. */
export function stockMoves(
  items: readonly { catalog_item_id: number | null; quantity: string; moves_stock: boolean }[],
): StockMove[] {
  return items.flatMap(({ catalog_item_id, quantity, moves_stock }) =>
    moves_stock && catalog_item_id !== null ? [{ catalog_item_id, quantity }] : [],
  )
}

/** Thousandths by item, in the order of the lines: an item may be on several of them. */
export function thousandthsByItem(moves: readonly StockMove[]): Map<number, number> {
  const sums = new Map<number, number>()
  for (const { catalog_item_id: id, quantity } of moves) sums.set(id, (sums.get(id) ?? 0) + toThousandths(quantity))
  return sums
}

type Stamped = Pick<EventOf<'StockAdjusted'>, 'revision' | 'recorded_at' | 'actor'>

/** What caused a movement, beside its quantity. */
type MovementCause = Pick<StockMovementRow, 'kind'> &
  Partial<Pick<StockMovementRow, 'unit_cost' | 'reason' | 'document' | 'record' | 'occurred_at'>>

/** Sets an item's stock and notes the movement; `place` is its place among those of the event. */
function moveStock(
  rows: Changes,
  event: Stamped,
  { id, after }: { readonly id: number; readonly after: string | null },
  cause: MovementCause,
  place = 0,
): void {
  const { company_id } = companyRef(rows)
  const row = existing(rows, stockById(id))
  const stock_updated_at = inZone(event.recorded_at, getTimezone(rows))
  rows.put(itemStocks, { ...row, stock: after, stock_updated_at, ...stamp(event) })
  rows.add(stockMovements, {
    company_id,
    id: toMovementId(event.revision, place),
    catalog_item_id: id,
    ...stamp(event),
    quantity: fromThousandths(toThousandths(after ?? '0') - toThousandths(row.stock ?? '0')),
    balance: after,
    unit_cost: null,
    reason: null,
    document: null,
    record: null,
    occurred_at: null,
    actor: event.actor,
    ...cause,
  })
}

/** Adds quantities to the stock of tracked items, deactivated ones included. */
function addToStock(
  rows: Changes,
  event: Stamped,
  moves: readonly StockMove[],
  sign: 1 | -1,
  cause: MovementCause,
): void {
  for (const [place, [id, thousandths]] of [...thousandthsByItem(moves)].entries()) {
    if (!rows.wants(stockById(id))) continue
    const before = existing(rows, stockById(id)).stock
    if (before === null) continue
    const after = fromThousandths(toThousandths(before) + sign * thousandths)
    moveStock(rows, event, { id, after }, cause, place)
  }
}

type Sold = EventOf<'SaleCompleted'> | EventOf<'OfflineSaleCompleted'>

/** Lines of every kind of sale debit their stock. */
const takesStock = {
  refs: ({ data }: Sold) => stockMoves(data.items).map((move) => stockById(move.catalog_item_id)),
  apply(rows: Changes, event: Sold) {
    const { id, items, sold_at } = event.data
    const occurred_at = sold_at === event.recorded_at ? null : sold_at
    addToStock(rows, event, stockMoves(items), -1, { kind: 'sale', record: `sale/${id}`, occurred_at })
  },
}

/** A change of the item itself: lists by change show it. */
const changesItem = {
  refs: ({ data }: { data: { id: number } }) => [stockById(data.id)],
  apply(rows: Changes, event: Stamped & { data: { id: number } }) {
    rows.put(itemStocks, { ...existing(rows, stockById(event.data.id)), ...stamp(event) })
  },
}

export const stockProjection = projection('stock', [itemStocks, stockMovements], {
  CatalogItemCreated: {
    apply(rows, event) {
      const { id, stock } = event.data
      const { company_id } = companyRef(rows)
      rows.add(itemStocks, { company_id, id, stock: null, stock_updated_at: null, ...stamp(event) })
      if (stock !== null) moveStock(rows, event, { id, after: stock }, { kind: 'count' })
    },
  },
  CatalogItemUpdated: changesItem,
  CatalogItemDeactivated: changesItem,
  CatalogItemRevived: changesItem,
  StockAdjusted: {
    refs: (event) => [stockById(event.data.id)],
    apply(rows, event) {
      const { reason, order_id } = event.data
      moveStock(rows, event, event.data, { kind: reason, record: order_id ? `order/${order_id}` : null })
    },
  },
  StockMovementRecorded: {
    refs: (event) => [stockById(event.data.catalog_item_id)],
    apply(rows, event) {
      const { catalog_item_id: id, after, kind, unit_cost, reason, reference } = event.data
      moveStock(rows, event, { id, after }, { kind, unit_cost, reason, document: reference })
    },
  },
  InventoryApplied: {
    refs: (event) => event.data.stocks.map(({ catalog_item_id }) => stockById(catalog_item_id)),
    apply(rows, event) {
      const record = `inventory/${event.data.id}`
      for (const [place, { catalog_item_id: id, after, counted_at }] of event.data.stocks.entries()) {
        if (!rows.wants(stockById(id))) continue
        moveStock(rows, event, { id, after }, { kind: 'count', record, occurred_at: counted_at }, place)
      }
    },
  },
  GoodsStocked: {
    refs: (event) => event.data.lines.map(({ catalog_item_id }) => stockById(catalog_item_id)),
    apply(rows, event) {
      const record = `goods_receipt/${event.data.id}`
      for (const [place, { catalog_item_id: id, after, unit_cost }] of event.data.lines.entries()) {
        if (after === null || !rows.wants(stockById(id))) continue
        moveStock(rows, event, { id, after }, { kind: 'purchase', unit_cost, record }, place)
      }
    },
  },
  GoodsReceiptUndone: {
    refs: (event) => event.data.stocks.map(({ catalog_item_id }) => stockById(catalog_item_id)),
    apply(rows, event) {
      const record = `goods_receipt/${event.data.id}`
      for (const [place, { catalog_item_id: id, after }] of event.data.stocks.entries())
        if (rows.wants(stockById(id))) moveStock(rows, event, { id, after }, { kind: 'purchase', record }, place)
    },
  },
  SaleCompleted: takesStock,
  OfflineSaleCompleted: takesStock,
  SaleReturned: {
    refs: (event) => event.data.stock.map((item) => stockById(item.catalog_item_id)),
    apply(rows, event) {
      const { id, stock, returned_at, reason } = event.data
      const occurred_at = returned_at === event.recorded_at ? null : returned_at
      addToStock(rows, event, stock, 1, { kind: 'return', record: `return/${id}`, reason, occurred_at })
    },
  },
  ReturnReversed: {
    refs: (event) => event.data.stock.map((item) => stockById(item.catalog_item_id)),
    apply(rows, event) {
      const { id, stock, reason } = event.data
      addToStock(rows, event, stock, -1, { kind: 'return', record: `return/${id}`, reason })
    },
  },
  SaleCancelled: {
    refs: (event) => event.data.restock.map((item) => stockById(item.catalog_item_id)),
    apply(rows, event) {
      const { id, restock } = event.data
      addToStock(rows, event, restock, 1, { kind: 'cancel', record: `sale/${id}` })
    },
  },
})

/** A movement as the API returns it. */
export interface StockMovementObject {
  readonly id: number
  readonly catalog_item_id: number
  readonly kind: MovementKind
  readonly quantity: string
  readonly balance: string | null
  readonly unit_cost: string | null
  readonly reason: string | null
  /** A text of the client, or the record. */
  readonly document: string | null
  /** The record that moved the stock, as `sale/981`. */
  readonly record: string | null
  readonly occurred_at: string
}

/** The API's object of a movement, in a zone. Also of a row as JSON. */
export function stockMovementObject(row: StockMovementRow, timezone: string): StockMovementObject {
  const { id, catalog_item_id, kind, quantity, balance, unit_cost, reason, record } = row
  const occurred_at = inZone(new Date(row.occurred_at ?? row.changed_at).toISOString(), timezone)
  const document = record ?? row.document
  return { id, catalog_item_id, kind, quantity, balance, unit_cost, reason, document, record, occurred_at }
}

export const stockMovementView: RecordView = {
  refs: (id) => [movementById(id)],
  render(rows, id) {
    const row = rows.get(movementById(id))
    return row && JSON.stringify(stockMovementObject(row, getTimezone(rows)))
  },
}

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
  about: 'Inventories: open, applied or discarded.',
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
  about: 'Counted items of inventories.',
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

export const inventoryCountByItem = (inventoryId: number, itemId: number) => byPk(inventoryCounts, inventoryId, itemId)

export const inventoriesProjection = projection('inventories', [inventories, inventoryCounts], {
  InventoryOpened: {
    apply(rows, event) {
      const { id, name } = event.data
      const created_at = inZone(event.recorded_at, getTimezone(rows))
      const doc = { id, name, status: 'open' as const, counted_items: 0, created_at, closed_at: null }
      rows.add(inventories, { company_id: companyRef(rows).company_id, id, status: 'open', ...stamp(event), doc })
    },
  },
  InventoryCounted: {
    refs: ({ data: { id, counts } }) => [
      inventoryById(id),
      ...counts.map(({ catalog_item_id }) => inventoryCountByItem(id, catalog_item_id)),
    ],
    apply(rows, event) {
      const { id: inventory_id, counts, counted_items } = event.data
      const { company_id } = companyRef(rows)
      for (const { catalog_item_id: id, quantity, counted_at } of counts) {
        if (rows.wants(inventoryCountByItem(inventory_id, id)))
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
      const doc = { ...row.doc, status, closed_at: inZone(event.recorded_at, getTimezone(rows)) }
      rows.put(inventories, { ...row, status, ...stamp(event), doc })
    },
  },
})

const MOVEMENTS = markTable('stock_movements')

/**
 * SQL of what has moved an item's stock since it was counted at `t.counted_at`, and by the inventory itself. Movements
 * count by their own time: a sale before the counting that came later does not. `t`: row of `inventory_counts`.
 */
const MOVED_SINCE_COUNT = `
  cross join lateral (
    select coalesce(sum(m.quantity) filter (where m.at > t.counted_at), 0.000)::text as moved,
           coalesce(sum(m.quantity) filter (where m.is_own), 0.000)::text as corrected,
           coalesce(bool_or(m.kind = 'count' and m.at > t.counted_at), false) as is_recounted
    from (
      select quantity, kind, coalesce(occurred_at, changed_at) as at,
        kind = 'count' and occurred_at is not null and record = 'inventory/' || t.inventory_id as is_own
      from ${MOVEMENTS}
      where company_id = t.company_id and catalog_item_id = t.id and id >= (
        select f.id from ${MOVEMENTS} f where f.company_id = t.company_id and f.changed_at > t.counted_at
        order by f.changed_at, f.revision, f.id limit 1)
      offset 0) m
  ) m`

/** Counts `t` with their items `i`, stocks `s` and movements `m`. */
export const COUNTED = `${markTable('inventory_counts')} t
  join ${markTable('catalog_items')} i on i.company_id = t.company_id and i.id = t.id
  join ${markTable('item_stocks')} s on s.company_id = t.company_id and s.id = t.id
  ${MOVED_SINCE_COUNT}`

/** A count with the stock that it is compared with. */
export interface CountedStock {
  /** Of the item. */
  readonly id: number
  readonly counted: string
  /** UTC. */
  readonly counted_at: string
  /** Null if it is not tracked. */
  readonly stock: string | null
  /** What has moved since the counting, by the time of the movements. */
  readonly moved: string
  /** Whether a later count says what the stock was. */
  readonly is_recounted: boolean
}

/** The counts of an inventory, of active products only; rows are `CountedStock`. */
export const STOCK_AT_COUNT = {
  name: 'stock_at_count',
  text: plainSql(`select t.id, t.quantity::text as counted, to_char(t.counted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as counted_at,
      s.stock::text as stock, m.moved, m.is_recounted
    from ${COUNTED}
    where t.company_id = $1 and t.inventory_id = $2 and t.quantity is not null and i.deleted_at is null and i.type = 'product'
    order by t.id`),
}

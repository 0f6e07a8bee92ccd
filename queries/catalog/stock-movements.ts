import type { Refusal } from '#domain/refusal.ts'
import { type MovementKind, type StockMovementRow, stockMovementObject } from '#projections/stock.ts'
import type { Reader } from '../reader.ts'
import { type Listing, type ListPaging, list, listInOrder, NEWEST_FIRST, type Page, type Paging } from '../records.ts'
import { t } from '../table-names.ts'

export interface MovementFilters {
  readonly catalog_item_id?: number | undefined
  readonly kind?: MovementKind | undefined
}

const movementListing: Listing<MovementFilters> = {
  resource: 'stock_movements',
  from: `${t.stock_movements} t`,
  // Quantities as texts: as numbers they would lose their three decimals.
  record: `json_build_object('id', t.id, 'catalog_item_id', t.catalog_item_id, 'kind', t.kind,
    'quantity', t.quantity::text, 'balance', t.balance::text, 'unit_cost', t.unit_cost::text, 'reason', t.reason,
    'document', t.document, 'record', t.record, 'occurred_at', t.occurred_at, 'changed_at', t.changed_at)`,
  present: (record, timezone) => stockMovementObject(record as StockMovementRow, timezone),
  filters: {
    catalog_item_id: (value) => `t.catalog_item_id = ${value}::bigint`,
    kind: (value) => `t.kind = ${value}::text`,
  },
}

/** Movements in the order of the ledger. */
export const listStockMovements = (reader: Reader, query: ListPaging & MovementFilters): Promise<Page | Refusal> =>
  list(reader, movementListing, query)

/** A movement for people. */
export type ShownMovement = ReturnType<typeof stockMovementObject> & { readonly actor: string | null }

const shownListing: typeof movementListing = {
  ...movementListing,
  resource: 'stock_movements_shown',
  record: (movementListing.record as string).replace("'changed_at'", "'actor', t.actor, 'changed_at'"),
  present: (record, timezone) => ({
    ...stockMovementObject(record as StockMovementRow, timezone),
    actor: (record as StockMovementRow).actor,
  }),
}

/** Movements for people, newest first, with their actors. */
export const listShownMovements = (reader: Reader, query: Paging & MovementFilters): Promise<Page | Refusal> =>
  listInOrder(reader, shownListing, NEWEST_FIRST, query)

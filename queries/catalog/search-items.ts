import type { Pool } from 'pg'
import type { Refusal } from '#domain/refusal.ts'
import { containing } from '../contains.ts'
import { BY_NAME, type Listing, listInOrder, type Page, type Paging } from '../list.ts'
import type { Order } from '../list-statement.ts'
import { itemListing } from './list-items.ts'

/** What people look for in a catalog. */
export interface ItemSearch {
  /** A part of the name. */
  readonly name?: string | undefined
  readonly type?: 'product' | 'service' | undefined
  readonly category_id?: number | undefined
  /** A barcode, an SKU or an external id: whatever stands on the label. */
  readonly code?: string | undefined
  /** Tracked items of which there are none, or fewer. */
  readonly out_of_stock?: true | undefined
}

const { name, type, category_id } = itemListing.filters

const searchListing: Listing<ItemSearch> = {
  ...itemListing,
  resource: 'catalog_search',
  filters: {
    name,
    type,
    category_id,
    code: (value) => `${value}::text in (t.barcode, t.sku, t.external_id)`,
    out_of_stock: (value) => `${value}::boolean and (t.doc ->> 'stock')::numeric <= 0`,
  },
}

/** An index by name would have to be written with every sale, because each changes the stamp of its items. */
const BY_ITEM_NAME: Order = { ...BY_NAME, name: 'by_item_name', isSorted: true }

/** Lists items in the order of their names, for people. */
export function searchItems(pool: Pool, companyId: number, query: Paging & ItemSearch): Promise<Page | Refusal> {
  const name = query.name === undefined ? undefined : containing(query.name)
  return listInOrder(pool, searchListing, BY_ITEM_NAME, companyId, { ...query, name })
}

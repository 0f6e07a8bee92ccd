import type { Pool } from 'pg'
import type { Refusal } from '#domain/refusal.ts'
import { containing } from '../contains.ts'
import { type DeletedPaging, type Listing, type ListPaging, list, listDeleted, type Page } from '../list.ts'

export interface ItemFilters {
  /** A part of the name. */
  readonly name?: string
  readonly type?: 'product' | 'service'
  readonly category_id?: number
  readonly sku?: string
  readonly barcode?: string
  readonly external_id?: string
}

/** The category's name is joined, and put at the end of the item just as catalogItemView does it: the same bytes. */
export const itemListing: Listing<ItemFilters> = {
  resource: 'catalog_items',
  from: 'catalog_items t left join categories g on g.company_id = t.company_id and g.id = t.category_id',
  record: `left(t.doc::text, -1) || ',"category_name":' || coalesce((g.doc -> 'name')::text, 'null') || '}'`,
  where: 't.deleted_at is null',
  filters: {
    name: (value) => `t.name_key like ${value}::text`,
    type: (value) => `t.type = ${value}::text`,
    category_id: (value) => `t.category_id = ${value}::bigint`,
    sku: (value) => `t.sku = ${value}::text`,
    barcode: (value) => `t.barcode = ${value}::text`,
    external_id: (value) => `t.external_id = ${value}::text`,
  },
}

export function listItems(pool: Pool, companyId: number, query: ListPaging & ItemFilters): Promise<Page | Refusal> {
  const name = query.name === undefined ? undefined : containing(query.name)
  return list(pool, itemListing, companyId, { ...query, name })
}

export function listDeletedItems(pool: Pool, companyId: number, query: DeletedPaging): Promise<Page | Refusal> {
  return listDeleted(pool, 'catalog_items', companyId, query)
}

import type { Pool } from 'pg'
import type { Refusal } from '#domain/refusal.ts'
import {
  BY_NAME,
  containing,
  type Found,
  getBy,
  type Listing,
  type ListPaging,
  list,
  listInOrder,
  type Page,
  type Paging,
} from '../records.ts'

export interface CategoryFilters {
  /** A part of the name. */
  readonly name?: string
  readonly external_id?: string
}

const categoryListing: Listing<CategoryFilters> = {
  resource: 'categories',
  from: 'categories t',
  record: 't.doc::text',
  filters: {
    name: (value) => `t.name_key like ${value}::text`,
    external_id: (value) => `t.external_id = ${value}::text`,
  },
}

export function listCategories(
  pool: Pool,
  companyId: number,
  query: ListPaging & CategoryFilters,
): Promise<Page | Refusal> {
  return list(pool, categoryListing, companyId, { ...query, name: containing(query.name) })
}

/** The same in the order of names, for people. */
export function listCategoriesByName(
  pool: Pool,
  companyId: number,
  query: Paging & CategoryFilters,
): Promise<Page | Refusal> {
  return listInOrder(pool, categoryListing, BY_NAME, companyId, { ...query, name: containing(query.name) })
}

export const getCategory = (pool: Pool, companyId: number, id: number): Promise<Found> =>
  getBy(pool, categoryListing, companyId, 'id', id)

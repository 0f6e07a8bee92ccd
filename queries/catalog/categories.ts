import type { Refusal } from '#domain/refusal.ts'
import type { Queryable } from '#postgres/database.ts'
import {
  containing,
  type DeletedPaging,
  type FoundRecords,
  getAny,
  getBy,
  type Listing,
  type ListPaging,
  list,
  listDeleted,
  listInOrder,
  ORDER_BY_NAME,
  type Page,
  type Paging,
} from '../records.ts'

export interface CategoryFilters {
  /** Substring of the name. */
  readonly name?: string
  readonly external_id?: string
}

const categoryListing: Listing<CategoryFilters> = {
  resource: 'categories',
  from: 'categories t',
  record: 't.doc',
  where: 't.deleted_at is null',
  filters: {
    name: (value) => `t.sort_key like ${value}::text`,
    external_id: (value) => `t.external_id = ${value}::text`,
  },
}

export function listCategories(
  pool: Queryable,
  companyId: number,
  query: ListPaging & CategoryFilters,
): Promise<Page | Refusal> {
  return list(pool, categoryListing, companyId, { ...query, name: containing(query.name) })
}

export function listDeletedCategories(
  pool: Queryable,
  companyId: number,
  query: DeletedPaging,
): Promise<Page | Refusal> {
  return listDeleted(pool, 'categories', companyId, query)
}

/** Ordered by name, for people. */
export function listCategoriesByName(
  pool: Queryable,
  companyId: number,
  query: Paging & CategoryFilters,
): Promise<Page | Refusal> {
  return listInOrder(pool, categoryListing, ORDER_BY_NAME, companyId, { ...query, name: containing(query.name) })
}

export const getCategory = (pool: Queryable, companyId: number, id: number): Promise<FoundRecords> =>
  getBy(pool, categoryListing, companyId, 'id', id)

/** A category, deleted ones included. */
export const getAnyCategory = (pool: Queryable, companyId: number, id: number): Promise<FoundRecords> =>
  getAny(pool, categoryListing, companyId, id)

export const getCategoryByExternalId = (
  pool: Queryable,
  companyId: number,
  externalId: string,
): Promise<FoundRecords> => getBy(pool, categoryListing, companyId, 'external_id', externalId)

import type { Refusal } from '#domain/refusal.ts'
import type { Reader } from '../reader.ts'
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
import { t } from '../table-names.ts'

export interface CategoryFilters {
  /** Substring of the name. */
  readonly name?: string
  readonly external_id?: string
}

const categoryListing: Listing<CategoryFilters> = {
  resource: 'categories',
  from: `${t.categories} t`,
  record: 't.doc',
  where: 't.deleted_at is null',
  filters: {
    name: (value) => `t.sort_key like ${value}::text`,
    external_id: (value) => `t.external_id = ${value}::text`,
  },
}

export function listCategories(reader: Reader, query: ListPaging & CategoryFilters): Promise<Page | Refusal> {
  return list(reader, categoryListing, { ...query, name: containing(query.name) })
}

export function listDeletedCategories(reader: Reader, query: DeletedPaging): Promise<Page | Refusal> {
  return listDeleted(reader, 'categories', query)
}

/** Ordered by name, for people. */
export function listCategoriesByName(reader: Reader, query: Paging & CategoryFilters): Promise<Page | Refusal> {
  return listInOrder(reader, categoryListing, ORDER_BY_NAME, { ...query, name: containing(query.name) })
}

export const getCategory = (reader: Reader, id: number): Promise<FoundRecords> =>
  getBy(reader, categoryListing, 'id', id)

/** A category, deleted ones included. */
export const getAnyCategory = (reader: Reader, id: number): Promise<FoundRecords> => getAny(reader, categoryListing, id)

export const getCategoryByExternalId = (reader: Reader, externalId: string): Promise<FoundRecords> =>
  getBy(reader, categoryListing, 'external_id', externalId)

import type { Pool } from 'pg'
import type { Refusal } from '../../src/domain/refusal.ts'
import { containing } from '../contains.ts'
import { type Listing, type ListPaging, list, type Page } from '../list.ts'

export interface CategoryFilters {
  /** A part of the name. */
  readonly name?: string
  readonly external_id?: string
}

export const categoryListing: Listing<CategoryFilters> = {
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
  const name = query.name === undefined ? undefined : containing(query.name)
  return list(pool, categoryListing, companyId, { ...query, name })
}

import type { Pool } from 'pg'
import type { Refusal } from '../../src/domain/refusal.ts'
import { containing } from '../contains.ts'
import { type DeletedPaging, type Listing, type ListPaging, list, listDeleted, type Page } from '../list.ts'

export interface CustomerFilters {
  /** A part of the name. */
  readonly name?: string
  readonly document?: string
  readonly external_id?: string
}

export const customerListing: Listing<CustomerFilters> = {
  resource: 'customers',
  from: 'customers t',
  record: 't.doc::text',
  where: 't.deleted_at is null',
  filters: {
    name: (value) => `t.name_key like ${value}::text`,
    document: (value) => `t.document = ${value}::text`,
    external_id: (value) => `t.external_id = ${value}::text`,
  },
}

export function listCustomers(
  pool: Pool,
  companyId: number,
  query: ListPaging & CustomerFilters,
): Promise<Page | Refusal> {
  const name = query.name === undefined ? undefined : containing(query.name)
  return list(pool, customerListing, companyId, { ...query, name })
}

export function listDeletedCustomers(pool: Pool, companyId: number, query: DeletedPaging): Promise<Page | Refusal> {
  return listDeleted(pool, 'customers', companyId, query)
}

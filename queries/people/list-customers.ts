import type { Pool } from 'pg'
import type { Refusal } from '#domain/refusal.ts'
import { type DeletedPaging, type ListPaging, listDeleted, type Page } from '../list.ts'
import { listPersons, type PersonFilters, personListing } from './list-persons.ts'

export type CustomerFilters = PersonFilters

export const customerListing = personListing('customers')

export function listCustomers(
  pool: Pool,
  companyId: number,
  query: ListPaging & CustomerFilters,
): Promise<Page | Refusal> {
  return listPersons(pool, customerListing, companyId, query)
}

export function listDeletedCustomers(pool: Pool, companyId: number, query: DeletedPaging): Promise<Page | Refusal> {
  return listDeleted(pool, 'customers', companyId, query)
}

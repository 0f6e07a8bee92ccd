import type { Pool } from 'pg'
import type { Refusal } from '#domain/refusal.ts'
import { type DeletedPaging, type ListPaging, listDeleted, type Page } from '../list.ts'
import { listPersons, type PersonFilters, personListing } from './list-persons.ts'

export type SupplierFilters = PersonFilters

export const supplierListing = personListing('suppliers')

export function listSuppliers(
  pool: Pool,
  companyId: number,
  query: ListPaging & SupplierFilters,
): Promise<Page | Refusal> {
  return listPersons(pool, supplierListing, companyId, query)
}

export function listDeletedSuppliers(pool: Pool, companyId: number, query: DeletedPaging): Promise<Page | Refusal> {
  return listDeleted(pool, 'suppliers', companyId, query)
}

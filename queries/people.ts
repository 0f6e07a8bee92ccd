import type { Pool } from 'pg'
import type { Refusal } from '#domain/refusal.ts'
import { nameKey } from '#domain/text.ts'
import {
  BY_NAME,
  containing,
  type DeletedPaging,
  type Found,
  getBy,
  type Listing,
  type ListPaging,
  list,
  listDeleted,
  listInOrder,
  type Page,
  type Paging,
} from './records.ts'

/** Filters of customers and suppliers alike. */
interface PersonFilters {
  /** A part of the name. */
  readonly name?: string
  readonly document?: string
  readonly external_id?: string
}

const personListing = (table: 'customers' | 'suppliers'): Listing<PersonFilters> => ({
  resource: table,
  from: `${table} t`,
  record: 't.doc::text',
  where: 't.deleted_at is null',
  filters: {
    name: (value) => `t.name_key like ${value}::text`,
    document: (value) => `t.document = ${value}::text`,
    external_id: (value) => `t.external_id = ${value}::text`,
  },
})

function listPersons(
  pool: Pool,
  listing: Listing<PersonFilters>,
  companyId: number,
  query: ListPaging & PersonFilters,
): Promise<Page | Refusal> {
  return list(pool, listing, companyId, { ...query, name: namePart(query) })
}

/** The same in the order of names, for people. */
export function listPersonsByName(
  pool: Pool,
  listing: Listing<PersonFilters>,
  companyId: number,
  query: Paging & PersonFilters,
): Promise<Page | Refusal> {
  return listInOrder(pool, listing, BY_NAME, companyId, { ...query, name: namePart(query) })
}

const namePart = ({ name }: PersonFilters): string | undefined => (name === undefined ? undefined : containing(name))

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

export const getCustomer = (pool: Pool, companyId: number, id: number): Promise<Found> =>
  getBy(pool, customerListing, companyId, 'id', id)

type SupplierFilters = PersonFilters

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

export const getSupplier = (pool: Pool, companyId: number, id: number): Promise<Found> =>
  getBy(pool, supplierListing, companyId, 'id', id)

/** The id of the customer or supplier that has a name, of which there is one at most; case and spacing do not matter. */
export async function findPersonByName(
  pool: Pool,
  table: 'customers' | 'suppliers',
  companyId: number,
  name: string,
): Promise<number | null> {
  const { rows } = await pool.query<{ id: number }>({
    name: `find_${table}_by_name`,
    text: `select t.id from ${table} t where t.company_id = $1 and t.name_key = $2`,
    values: [companyId, nameKey(name)],
  })
  return rows[0]?.id ?? null
}

import type { Pool } from 'pg'
import type { Refusal } from '#domain/refusal.ts'
import { nameKey } from '#domain/text.ts'
import type { ListOrder } from './list-statement.ts'
import { withReadSet } from './read-set.ts'
import {
  containing,
  type DeletedPaging,
  type FoundRecords,
  getAny,
  getBy,
  hasWords,
  type Listing,
  type ListPaging,
  list,
  listDeleted,
  listInOrder,
  ORDER_BY_NAME,
  type Page,
  type Paging,
  wordsOf,
} from './records.ts'

/** Filters of customers and suppliers. */
export interface PersonFilters {
  /** Words in names or external id. */
  readonly q?: string
  /** Substring of the name. */
  readonly name?: string
  readonly document?: string
  readonly external_id?: string
}

type PersonQuery = ListPaging & PersonFilters

/** Filters in the form that conditions take. */
type PersonConditions = Omit<PersonFilters, 'q'> & { readonly q?: readonly string[] }

const conditionsOf = <Q extends PersonFilters>(query: Q) => ({
  ...query,
  q: wordsOf(query.q),
  name: containing(query.name),
})

const personListing = (table: 'customers' | 'suppliers'): Listing<PersonConditions> => ({
  resource: table,
  from: `${table} t`,
  record: 't.doc',
  where: 't.deleted_at is null',
  filters: {
    q: hasWords,
    name: (value) => `t.sort_key like ${value}::text`,
    document: (value) => `t.document = ${value}::text`,
    external_id: (value) => `t.external_id = ${value}::text`,
  },
})

function listPersons(
  pool: Pool,
  listing: Listing<PersonConditions>,
  companyId: number,
  query: PersonQuery,
): Promise<Page | Refusal> {
  return list(pool, listing, companyId, conditionsOf(query))
}

/** Ordered by name, for people, or by another order that has an index. */
export function listPersonsByName(
  pool: Pool,
  listing: Listing<PersonConditions>,
  companyId: number,
  { order = ORDER_BY_NAME, ...query }: Paging & PersonFilters & { readonly order?: ListOrder | undefined },
): Promise<Page | Refusal> {
  return listInOrder(pool, listing, order, companyId, conditionsOf(query))
}

/** Bound of counted persons; one more means that there are more. */
export const MAX_COUNTED_PERSONS = 50_000

/** Number of persons that match a search. */
export async function countPersons(
  pool: Pool,
  { resource, from, where, filters }: Listing<PersonConditions>,
  companyId: number,
  search: PersonFilters,
): Promise<number> {
  const given = Object.entries(conditionsOf(search)).filter(([, value]) => value !== undefined)
  const conditions = given.map(([name], place) => filters[name as keyof PersonConditions](`$${place + 3}`, ''))
  const text = `select count(*) as count from (
    select from ${from} where ${['t.company_id = $1', where, ...conditions].join(' and ')} limit $2::bigint + 1) found`
  const values = [companyId, MAX_COUNTED_PERSONS, ...given.map(([, value]) => value)]
  const { rows } = await pool.query<{ count: number }>(
    withReadSet({ text, values, readSet: { [resource]: 'columns' } }),
  )
  return rows[0]?.count ?? 0
}

export const customerListing = personListing('customers')
export const supplierListing = personListing('suppliers')

export const listCustomers = (pool: Pool, companyId: number, query: PersonQuery): Promise<Page | Refusal> =>
  listPersons(pool, customerListing, companyId, query)

export const listSuppliers = (pool: Pool, companyId: number, query: PersonQuery): Promise<Page | Refusal> =>
  listPersons(pool, supplierListing, companyId, query)

export const listDeletedCustomers = (pool: Pool, companyId: number, query: DeletedPaging): Promise<Page | Refusal> =>
  listDeleted(pool, 'customers', companyId, query)

export const listDeletedSuppliers = (pool: Pool, companyId: number, query: DeletedPaging): Promise<Page | Refusal> =>
  listDeleted(pool, 'suppliers', companyId, query)

export const getCustomer = (pool: Pool, companyId: number, id: number): Promise<FoundRecords> =>
  getBy(pool, customerListing, companyId, 'id', id)

export const getSupplier = (pool: Pool, companyId: number, id: number): Promise<FoundRecords> =>
  getBy(pool, supplierListing, companyId, 'id', id)

/** A customer, deleted ones included, without personal data (PERSON-10). */
export const getAnyCustomer = (pool: Pool, companyId: number, id: number): Promise<FoundRecords> =>
  getAny(pool, customerListing, companyId, id)

/** A supplier, as for customers. */
export const getAnySupplier = (pool: Pool, companyId: number, id: number): Promise<FoundRecords> =>
  getAny(pool, supplierListing, companyId, id)

export const getCustomerByExternalId = (pool: Pool, companyId: number, externalId: string): Promise<FoundRecords> =>
  getBy(pool, customerListing, companyId, 'external_id', externalId)

export const getSupplierByExternalId = (pool: Pool, companyId: number, externalId: string): Promise<FoundRecords> =>
  getBy(pool, supplierListing, companyId, 'external_id', externalId)

/** Id of the customer or supplier with a name; names are unique, regardless of case and spacing. */
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

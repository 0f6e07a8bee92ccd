import { phoneKey } from '#domain/phone-key.ts'
import type { Refusal } from '#domain/refusal.ts'
import { bareTaxNumber, isCnpj } from '#domain/tax-number.ts'
import { nameKey } from '#domain/text.ts'
import type { Queryable } from '#postgres/database.ts'
import { type BalanceSide, findDeletedParty } from './finance/open-balances.ts'
import { type ListOrder, sumStatement } from './list-statement.ts'
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
  matchingRecords,
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
  /** Digits, with or without country code. */
  readonly phone?: string
  readonly external_id?: string
  /** Words of names or external id, or a part of document or phone; for people. */
  readonly find?: string
}

type PersonQuery = ListPaging & PersonFilters

/** Filters in the form that conditions take. */
type PersonConditions = Omit<PersonFilters, 'q' | 'find'> & {
  readonly q?: readonly string[]
  readonly find?: readonly (string | null)[]
}

const conditionsOf = <Q extends PersonFilters>({ q, name, phone, find, ...query }: Q) => ({
  ...query,
  q: wordsOf(q),
  name: containing(name),
  phone: phone === undefined ? undefined : phoneKey(phone),
  find: find === undefined ? undefined : [codePatternOf(find), ...(wordsOf(find) ?? [])],
})

/** Fewer digits are a part of too many documents and phones. */
const MIN_CODE_DIGITS = 4

/** `like` pattern of a part of a document or phone; null if the text is none. */
function codePatternOf(text: string): string | null {
  const document = bareTaxNumber(text)
  if (isCnpj(document)) return document
  const digits = text.replace(/[\s()+./-]/g, '')
  return /^\d+$/.test(digits) && digits.length >= MIN_CODE_DIGITS ? `%${phoneKey(digits)}%` : null
}

const personListing = (table: 'customers' | 'suppliers'): Listing<PersonConditions> => ({
  resource: table,
  from: `${table} t`,
  record: 't.doc',
  where: 't.deleted_at is null',
  filters: {
    q: hasWords,
    name: (value) => `t.sort_key like ${value}::text`,
    document: (value) => `t.document = ${value}::text`,
    phone: (value) => `t.phone_key = ${value}::text`,
    external_id: (value) => `t.external_id = ${value}::text`,
    find: (value) => `(t.search like all ((${value}::text[])[2:]) or t.document like (${value}::text[])[1]
      or t.phone_key like (${value}::text[])[1])`,
  },
})

function listPersons(
  pool: Queryable,
  listing: Listing<PersonConditions>,
  companyId: number,
  query: PersonQuery,
): Promise<Page | Refusal> {
  return list(pool, listing, companyId, conditionsOf(query))
}

/** Ordered by name, for people, or by another order that has an index. */
export function listPersonsByName(
  pool: Queryable,
  listing: Listing<PersonConditions>,
  companyId: number,
  { order = ORDER_BY_NAME, ...query }: Paging & PersonFilters & { readonly order?: ListOrder | undefined },
): Promise<Page | Refusal> {
  return listInOrder(pool, listing, order, companyId, conditionsOf(query))
}

/** Bound of counted persons; one more means that there are more. */
export const MAX_COUNTED_PERSONS = 50_000

/** Statement of the ids of up to `MAX_COUNTED_PERSONS` persons that match a search, and one more. $1: company. */
export function matchingPersonsStatement(
  listing: Listing<PersonConditions>,
  search: PersonFilters,
  firstParameter: number,
): { readonly text: string; readonly values: readonly unknown[] } {
  const { condition, values } = matchingRecords<PersonConditions>(listing, conditionsOf(search), firstParameter + 1)
  return {
    text: `select t.id from ${listing.from} where ${condition} limit $${firstParameter}::bigint + 1`,
    values: [MAX_COUNTED_PERSONS, ...values],
  }
}

/** Number of persons that match a search. */
export async function countPersons(
  pool: Queryable,
  listing: Listing<PersonConditions>,
  companyId: number,
  search: PersonFilters,
): Promise<number> {
  const { text, values } = matchingPersonsStatement(listing, search, 2)
  const counted = `select count(*) as count from (${text}) found`
  const { rows } = await pool.query<{ count: number }>(
    withReadSet({
      ...sumStatement(`count_${listing.resource}`, counted, values.length - 1),
      values: [companyId, ...values],
      readSet: { [listing.resource]: 'columns' },
    }),
  )
  return rows[0]?.count ?? 0
}

export const customerListing = personListing('customers')
export const supplierListing = personListing('suppliers')

export const listCustomers = (pool: Queryable, companyId: number, query: PersonQuery): Promise<Page | Refusal> =>
  listPersons(pool, customerListing, companyId, query)

export const listSuppliers = (pool: Queryable, companyId: number, query: PersonQuery): Promise<Page | Refusal> =>
  listPersons(pool, supplierListing, companyId, query)

export const listDeletedCustomers = (
  pool: Queryable,
  companyId: number,
  query: DeletedPaging,
): Promise<Page | Refusal> => listDeleted(pool, 'customers', companyId, query)

export const listDeletedSuppliers = (
  pool: Queryable,
  companyId: number,
  query: DeletedPaging,
): Promise<Page | Refusal> => listDeleted(pool, 'suppliers', companyId, query)

export const getCustomer = (pool: Queryable, companyId: number, id: number): Promise<FoundRecords> =>
  getBy(pool, customerListing, companyId, 'id', id)

export const getSupplier = (pool: Queryable, companyId: number, id: number): Promise<FoundRecords> =>
  getBy(pool, supplierListing, companyId, 'id', id)

/** A customer, deleted ones included, without personal data (PERSON-10). */
export const getAnyCustomer = (pool: Queryable, companyId: number, id: number): Promise<FoundRecords> =>
  getAnyPerson(pool, customerListing, 'receivables', companyId, id)

/** A supplier, as for customers. */
export const getAnySupplier = (pool: Queryable, companyId: number, id: number): Promise<FoundRecords> =>
  getAnyPerson(pool, supplierListing, 'payables', companyId, id)

/** A deleted person with open accounts keeps the name on them. */
async function getAnyPerson(
  pool: Queryable,
  listing: Listing<PersonConditions>,
  side: BalanceSide,
  companyId: number,
  id: number,
): Promise<FoundRecords> {
  const found = await getAny(pool, listing, companyId, id)
  const record = found.record && (JSON.parse(found.record) as { name: string | null; deleted_at: string | null })
  if (!record || record.deleted_at === null) return found
  const debtor = await findDeletedParty(pool, side, companyId, id)
  return debtor ? { ...found, record: JSON.stringify({ ...record, name: debtor.name }) } : found
}

/** A customer for people: a live one, or a deleted one with accounts. */
export const getCustomerOrDebtor = (pool: Queryable, companyId: number, id: number): Promise<FoundRecords> =>
  orDebtor(pool, getCustomer, getAnyCustomer, 'receivables', companyId, id)

/** A supplier, likewise. */
export const getSupplierOrCreditor = (pool: Queryable, companyId: number, id: number): Promise<FoundRecords> =>
  orDebtor(pool, getSupplier, getAnySupplier, 'payables', companyId, id)

type GetPerson = (pool: Queryable, companyId: number, id: number) => Promise<FoundRecords>

async function orDebtor(
  pool: Queryable,
  get: GetPerson,
  getDeleted: GetPerson,
  side: BalanceSide,
  companyId: number,
  id: number,
): Promise<FoundRecords> {
  const live = await get(pool, companyId, id)
  if (live.record !== null || !(await findDeletedParty(pool, side, companyId, id))) return live
  return getDeleted(pool, companyId, id)
}

export const getCustomerByExternalId = (
  pool: Queryable,
  companyId: number,
  externalId: string,
): Promise<FoundRecords> => getBy(pool, customerListing, companyId, 'external_id', externalId)

export const getSupplierByExternalId = (
  pool: Queryable,
  companyId: number,
  externalId: string,
): Promise<FoundRecords> => getBy(pool, supplierListing, companyId, 'external_id', externalId)

/** Id of the customer or supplier with a name; names are unique, regardless of case and spacing. */
export async function findPersonByName(
  pool: Queryable,
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

/** Another person with the same document or phone. */
export interface SharingPerson {
  readonly id: number
  readonly name: string | null
  readonly shares: 'document' | 'phone'
}

/** Bound of the persons named for each of both values. */
const MAX_SHARING = 5

/** Persons of a table, other than `id`, with the same document or phone. */
export async function personsSharing(
  pool: Queryable,
  table: 'customers' | 'suppliers',
  companyId: number,
  { id, document, phone }: { readonly id: number; readonly document: string | null; readonly phone: string | null },
): Promise<readonly SharingPerson[]> {
  const having = (column: 'document' | 'phone_key', value: string, shares: SharingPerson['shares']) => `(
    select t.id, t.doc->>'name' as name, '${shares}' as shares from ${table} t
    where t.company_id = $1 and t.id <> $2 and t.deleted_at is null and t.${column} = ${value}::text
    order by t.id limit ${MAX_SHARING})`
  const { rows } = await pool.query<SharingPerson>(
    withReadSet({
      name: `${table}_sharing`,
      text: `${having('document', '$3', 'document')} union all ${having('phone_key', '$4', 'phone')}`,
      values: [companyId, id, document, phone && phoneKey(phone)],
      readSet: { [table]: 'columns' },
    }),
  )
  return rows
}

import { bareTaxNumber, isCnpj, phoneKey } from '#domain/person-values.ts'
import type { Refusal } from '#domain/refusals.ts'
import { nameKey } from '#domain/text.ts'
import type { FilterValues } from '#records/field.ts'
import type { PERSON_FILTERS, PERSON_SEARCH } from '#records/persons.ts'
import { type ListOrder, sumStatement } from './list-statement.ts'
import { type BalanceSide, findDeletedParty } from './open-balances.ts'
import type { Reader } from './reader.ts'
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
  toWordPatterns,
} from './record-queries.ts'
import { t } from './table-names.ts'

/** Filters of programs, and `find`, which is for people. */
export type PersonFilters = FilterValues<typeof PERSON_FILTERS & typeof PERSON_SEARCH>

type PersonQuery = ListPaging & PersonFilters

/** Filters in the form that conditions take. */
type PersonConditions = Omit<PersonFilters, 'q' | 'find'> & {
  readonly q?: readonly string[]
  readonly find?: readonly (string | null)[]
}

const conditionsOf = <Q extends PersonFilters>({ q, name, phone, find, ...query }: Q) => ({
  ...query,
  q: toWordPatterns(q),
  name: containing(name),
  phone: phone === undefined ? undefined : phoneKey(phone),
  find: find === undefined ? undefined : [codePatternOf(find), ...(toWordPatterns(find) ?? [])],
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
  from: `${t[table]} t`,
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

function listPersons(reader: Reader, listing: Listing<PersonConditions>, query: PersonQuery): Promise<Page | Refusal> {
  return list(reader, listing, conditionsOf(query))
}

/** Ordered by name, for people, or by another order that has an index. */
export function listPersonsByName(
  reader: Reader,
  listing: Listing<PersonConditions>,
  { order = ORDER_BY_NAME, ...query }: Paging & PersonFilters & { readonly order?: ListOrder | undefined },
): Promise<Page | Refusal> {
  return listInOrder(reader, listing, order, conditionsOf(query))
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
  reader: Reader,
  listing: Listing<PersonConditions>,
  search: PersonFilters,
): Promise<number> {
  const { text, values } = matchingPersonsStatement(listing, search, 2)
  const counted = `select count(*) as count from (${text}) found`
  const { rows } = await reader.query<{ count: number }>({
    ...sumStatement(`count_${listing.resource}`, counted, values.length - 1),
    values: [...values],
    readSet: { [listing.resource]: 'columns' },
  })
  return rows[0]?.count ?? 0
}

export const customerListing = personListing('customers')
export const supplierListing = personListing('suppliers')

export const listCustomers = (reader: Reader, query: PersonQuery): Promise<Page | Refusal> =>
  listPersons(reader, customerListing, query)

export const listSuppliers = (reader: Reader, query: PersonQuery): Promise<Page | Refusal> =>
  listPersons(reader, supplierListing, query)

export const listDeletedCustomers = (reader: Reader, query: DeletedPaging): Promise<Page | Refusal> =>
  listDeleted(reader, 'customers', query)

export const listDeletedSuppliers = (reader: Reader, query: DeletedPaging): Promise<Page | Refusal> =>
  listDeleted(reader, 'suppliers', query)

export const getCustomer = (reader: Reader, id: number): Promise<FoundRecords> =>
  getBy(reader, customerListing, 'id', id)

export const getSupplier = (reader: Reader, id: number): Promise<FoundRecords> =>
  getBy(reader, supplierListing, 'id', id)

/** A customer, deleted ones included, without personal data (PERSON-10). */
export const getAnyCustomer = (reader: Reader, id: number): Promise<FoundRecords> =>
  getAnyPerson(reader, customerListing, 'receivables', id)

/** A supplier, as for customers. */
export const getAnySupplier = (reader: Reader, id: number): Promise<FoundRecords> =>
  getAnyPerson(reader, supplierListing, 'payables', id)

/** A deleted person with open accounts keeps the name on them. */
async function getAnyPerson(
  reader: Reader,
  listing: Listing<PersonConditions>,
  side: BalanceSide,
  id: number,
): Promise<FoundRecords> {
  const found = await getAny(reader, listing, id)
  const record = found.record && (JSON.parse(found.record) as { name: string | null; deleted_at: string | null })
  if (!record || record.deleted_at === null) return found
  const debtor = await findDeletedParty(reader, side, id)
  return debtor ? { ...found, record: JSON.stringify({ ...record, name: debtor.name }) } : found
}

/** A customer for people: a live one, or a deleted one with accounts. */
export const getCustomerOrDebtor = (reader: Reader, id: number): Promise<FoundRecords> =>
  orDebtor(reader, getCustomer, getAnyCustomer, 'receivables', id)

/** A supplier, likewise. */
export const getSupplierOrCreditor = (reader: Reader, id: number): Promise<FoundRecords> =>
  orDebtor(reader, getSupplier, getAnySupplier, 'payables', id)

type GetPerson = (reader: Reader, id: number) => Promise<FoundRecords>

async function orDebtor(
  reader: Reader,
  get: GetPerson,
  getDeleted: GetPerson,
  side: BalanceSide,
  id: number,
): Promise<FoundRecords> {
  const live = await get(reader, id)
  if (live.record !== null || !(await findDeletedParty(reader, side, id))) return live
  return getDeleted(reader, id)
}

export const getCustomerByExternalId = (reader: Reader, externalId: string): Promise<FoundRecords> =>
  getBy(reader, customerListing, 'external_id', externalId)

export const getSupplierByExternalId = (reader: Reader, externalId: string): Promise<FoundRecords> =>
  getBy(reader, supplierListing, 'external_id', externalId)

/** Id of the customer or supplier with a name; names are unique, regardless of case and spacing. */
export async function findPersonByName(
  reader: Reader,
  table: 'customers' | 'suppliers',
  name: string,
): Promise<number | null> {
  const { rows } = await reader.query<{ id: number }>({
    name: `find_${table}_by_name`,
    text: `select t.id from ${t[table]} t where t.company_id = $1 and t.name_key = $2`,
    values: [nameKey(name)],
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
  reader: Reader,
  table: 'customers' | 'suppliers',
  { id, document, phone }: { readonly id: number; readonly document: string | null; readonly phone: string | null },
): Promise<readonly SharingPerson[]> {
  const having = (column: 'document' | 'phone_key', value: string, shares: SharingPerson['shares']) => `(
    select t.id, t.doc->>'name' as name, '${shares}' as shares from ${t[table]} t
    where t.company_id = $1 and t.id <> $2 and t.deleted_at is null and t.${column} = ${value}::text
    order by t.id limit ${MAX_SHARING})`
  const { rows } = await reader.query<SharingPerson>({
    name: `${table}_sharing`,
    text: `${having('document', '$3', 'document')} union all ${having('phone_key', '$4', 'phone')}`,
    values: [id, document, phone && phoneKey(phone)],
    readSet: { [table]: 'columns' },
  })
  return rows
}

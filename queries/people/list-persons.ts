import type { Pool } from 'pg'
import type { Refusal } from '#domain/refusal.ts'
import { containing } from '../contains.ts'
import { BY_NAME, type Listing, type ListPaging, list, listInOrder, type Page, type Paging } from '../list.ts'

/** Filters of customers and suppliers alike. */
export interface PersonFilters {
  /** A part of the name. */
  readonly name?: string
  readonly document?: string
  readonly external_id?: string
}

export const personListing = (table: 'customers' | 'suppliers'): Listing<PersonFilters> => ({
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

export function listPersons(
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

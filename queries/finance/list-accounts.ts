import type { Pool } from 'pg'
import type { Refusal } from '#domain/refusal.ts'
import { type DeletedPaging, type Listing, type ListPaging, list, listDeleted, type Page } from '../list.ts'

interface Filters {
  /** The customer or supplier. */
  readonly party_id?: number
  /** As it is now, whatever it was called when the account was entered: the filter names the party, not a text. */
  readonly party_external_id?: string
  readonly due_from?: string
  readonly due_to?: string
  /** First and last accounting date of settled accounts, inclusive. */
  readonly paid_from?: string
  readonly paid_to?: string
  readonly origin?: 'api' | 'pdv' | 'sale'
  readonly external_id?: string
}

export interface AccountFilters extends Filters {
  /** Overdue accounts are pending ones: there is no stored status of that name (spec, Receivable / payable). */
  readonly status?: 'pending' | 'settled' | 'overdue'
}

/** What accounts are found by. */
export interface AccountConditions extends Filters {
  readonly status?: 'pending' | 'settled'
  readonly overdue?: true
  /** As `status`, in the words of the index of accounting dates. */
  readonly settled?: true
  /** Pattern of the other party's name, as it is called now. */
  readonly party_name?: string
}

/** `is_overdue` is put at the end of the record just as the projection's view does it: the same bytes. */
function accountListing(
  table: 'receivables' | 'payables',
  parties: 'customers' | 'suppliers',
): Listing<AccountConditions> & { readonly resource: typeof table } {
  const isOverdue = (today: string) => `(t.status = 'pending' and t.due_date < ${today})`
  return {
    resource: table,
    from: `${table} t`,
    record: (today) => `left(t.doc::text, -1) || ',"is_overdue":' || ${isOverdue(today)}::text || '}'`,
    where: 't.deleted_at is null',
    filters: {
      status: (value) => `t.status = ${value}::text`,
      overdue: (value, today) => `${value}::boolean and ${isOverdue(today)}`,
      settled: (value) => `${value}::boolean and t.settled_on is not null`,
      party_id: (value) => `t.party_id = ${value}::bigint`,
      party_external_id: (value) =>
        `t.party_id = (select p.id from ${parties} p where p.company_id = $1 and p.external_id = ${value}::text)`,
      // A deleted party has no key: its name is looked at as it was written.
      party_name: (value) =>
        `t.party_id in (select p.id from ${parties} p where p.company_id = $1 and coalesce(p.name_key, lower(p.doc ->> 'name')) like ${value}::text)`,
      due_from: (value) => `t.due_date >= ${value}::date`,
      due_to: (value) => `t.due_date <= ${value}::date`,
      paid_from: (value) => `t.settled_on >= ${value}::date`,
      paid_to: (value) => `t.settled_on <= ${value}::date`,
      origin: (value) => `t.origin = ${value}::text`,
      external_id: (value) => `t.external_id = ${value}::text`,
    },
  }
}

export const receivableListing = accountListing('receivables', 'customers')
export const payableListing = accountListing('payables', 'suppliers')

export type AccountListing = typeof receivableListing

/** `today` is the company's day, which decides what is overdue. */
export function listAccounts(
  pool: Pool,
  listing: AccountListing,
  companyId: number,
  { status, ...query }: ListPaging & AccountFilters,
  today: string,
): Promise<Page | Refusal> {
  const conditions: ListPaging & AccountConditions = {
    ...query,
    ...(status === 'overdue' ? { overdue: true } : { status }),
  }
  return list<AccountConditions>(pool, listing, companyId, conditions, today)
}

export const listDeletedAccounts = (
  pool: Pool,
  { resource }: AccountListing,
  companyId: number,
  query: DeletedPaging,
): Promise<Page | Refusal> => listDeleted(pool, resource, companyId, query)

import type { Refusal } from '#domain/refusals.ts'
import type { AccountObject, AccountPayment } from '#projections/finance.ts'
import type { ACCOUNT_FILTERS, ACCOUNT_SEARCH } from '#records/accounts.ts'
import type { FilterValues } from '#records/field.ts'
import { type ListOrder, orderBy, type Sum, sumColumn, sumStatement, TODAY } from './list-statement.ts'
import { type BalanceSide, findDeletedParties } from './open-balances.ts'
import type { Reader } from './reader.ts'
import {
  containing,
  type DeletedPaging,
  type FoundRecords,
  getBy,
  type Listing,
  type ListPaging,
  list,
  listDeleted,
  listInOrder,
  matchingRecords,
  NEWEST_FIRST,
  type Page,
  type Paging,
} from './record-queries.ts'
import { t } from './table-names.ts'

interface AccountFilters extends FilterValues<typeof ACCOUNT_FILTERS> {
  /** The customer or supplier. */
  readonly party_id?: number
  /** The party's current external id, not the one recorded with the account. */
  readonly party_external_id?: string
}

interface AccountConditions extends Omit<AccountFilters, 'status'> {
  readonly status?: 'pending' | 'settled'
  readonly overdue?: true
  /** As `status: 'settled'`, in the form that the partial index of accounting dates requires. */
  readonly settled?: true
  /** Pattern of the party's current name, and ids of deleted parties, which have none. */
  readonly party_name?: readonly string[]
}

/** Appends `is_overdue` as the projection's view does, so that both give the same bytes. */
function accountListing(
  table: 'receivables' | 'payables',
  parties: 'customers' | 'suppliers',
): Listing<AccountConditions> & { readonly resource: typeof table } {
  const isOverdue = (today: string) => `(t.status = 'pending' and t.due_date < ${today})`
  return {
    resource: table,
    from: `${t[table]} t`,
    record: (today) => `left(t.doc::text, -1) || ',"is_overdue":' || ${isOverdue(today)}::text || '}'`,
    where: 't.deleted_at is null',
    joinedTables: [parties],
    filters: {
      status: (value) => `t.status = ${value}::text`,
      overdue: (value, today) => `${value}::boolean and ${isOverdue(today)}`,
      settled: (value) => `${value}::boolean and t.settled_on is not null`,
      party_id: (value) => `t.party_id = ${value}::bigint`,
      party_external_id: (value) =>
        `t.party_id = (select p.id from ${t[parties]} p where p.company_id = $1 and p.external_id = ${value}::text)`,
      party_name: (value) =>
        `(t.party_id in (select p.id from ${t[parties]} p where p.company_id = $1 and p.sort_key like (${value}::text[])[1])
          or t.party_id = any ((${value}::text[])[2:]::bigint[]))`,
      due_from: (value) => `t.due_date >= ${value}::date`,
      due_to: (value) => `t.due_date <= ${value}::date`,
      paid_from: (value) => `t.settled_on >= ${value}::date`,
      paid_to: (value) => `t.settled_on <= ${value}::date`,
      origin: (value) => `t.origin = ${value}::text`,
      external_id: (value) => `t.external_id = ${value}::text`,
      installment_group: (value) => `t.installment_group = ${value}::bigint`,
    },
  }
}

export const receivableListing = accountListing('receivables', 'customers')
export const payableListing = accountListing('payables', 'suppliers')

export type AccountListing = typeof receivableListing

/** `today` is the company's day; accounts due before it are overdue. */
export function listAccounts(
  reader: Reader,
  listing: AccountListing,
  { status, ...query }: ListPaging & AccountFilters,
  today: string,
): Promise<Page | Refusal> {
  const conditions: ListPaging & AccountConditions = {
    ...query,
    ...(status === 'overdue' ? { overdue: true } : { status }),
  }
  return list<AccountConditions>(reader, listing, conditions, today)
}

export const listDeletedAccounts = (
  reader: Reader,
  { resource }: AccountListing,
  query: DeletedPaging,
): Promise<Page | Refusal> => listDeleted(reader, resource, query)

export function getAccount(reader: Reader, listing: AccountListing, id: number, today: string): Promise<FoundRecords> {
  return getBy(reader, listing, 'id', id, today)
}

export function getAccountByExternalId(
  reader: Reader,
  listing: AccountListing,
  externalId: string,
  today: string,
): Promise<FoundRecords> {
  return getBy(reader, listing, 'external_id', externalId, today)
}

type AccountSearch = FilterValues<typeof ACCOUNT_SEARCH>

const BY_DUE_DATE = orderBy('due_date', 'due_date', 'date')

const LAST_SETTLED_FIRST: ListOrder = { ...orderBy('last_settled', 'settled_on', 'date'), descending: true }

interface View {
  readonly conditions: AccountConditions
  /** Column that its sums add up: what is open, or the value of accounts that may be settled. */
  readonly summed: 'open_cents' | 'amount_cents'
  readonly order: ListOrder
}

const VIEWS: Readonly<Record<NonNullable<AccountSearch['view']>, View>> = {
  pending: { conditions: { status: 'pending' }, summed: 'open_cents', order: BY_DUE_DATE },
  overdue: { conditions: { overdue: true }, summed: 'open_cents', order: BY_DUE_DATE },
  settled: { conditions: { settled: true }, summed: 'amount_cents', order: LAST_SETTLED_FIRST },
  all: { conditions: {}, summed: 'amount_cents', order: NEWEST_FIRST },
}

async function conditionsOf(
  reader: Reader,
  { resource }: AccountListing,
  { view = 'pending', party_name: name, due_from, due_to }: AccountSearch,
): Promise<AccountConditions> {
  const pattern = containing(name)
  const deleted = name === undefined ? [] : await findDeletedParties(reader, resource, name)
  const party_name = pattern === undefined ? undefined : [pattern, ...deleted.map(String)]
  return { ...VIEWS[view].conditions, party_name, due_from, due_to }
}

/** Lists accounts for people: pending ones by due date, settled ones by accounting date. */
export async function searchAccounts(
  reader: Reader,
  listing: AccountListing,
  { limit, cursor, ...search }: Paging & AccountSearch,
  today: string,
): Promise<Page | Refusal> {
  const { view = 'pending' } = search
  const query: Paging & AccountConditions = { ...(await conditionsOf(reader, listing, search)), limit, cursor }
  return listInOrder<AccountConditions>(reader, listing, VIEWS[view].order, query, today)
}

export interface AccountTotals {
  /** Open amounts in views of pending accounts, else values. */
  readonly found: Sum
  /** Open amounts. */
  readonly overdue: Sum
}

/** Bound of accounts in a sum; a count of one more means that there are more. */
export const MAX_SUMMED_ACCOUNTS = 10_000

/** Sums the result of a search. `today` decides what is overdue. */
export async function sumAccounts(
  reader: Reader,
  listing: AccountListing,
  search: AccountSearch,
  today: string,
): Promise<AccountTotals> {
  const { resource, joinedTables = [] } = listing
  const { condition, values: found } = matchingRecords(listing, await conditionsOf(reader, listing, search), 4)
  const { summed } = VIEWS[search.view ?? 'pending']
  const text = `select ${sumColumn(summed, 'true')} as found, ${sumColumn('open_cents', 'is_overdue')} as overdue
     from (
       select t.amount_cents, t.open_cents, t.status = 'pending' and t.due_date < ${TODAY} as is_overdue
       from ${t[resource]} t
       where ${condition}
       limit $2::bigint + 1
     ) found`
  const values = [MAX_SUMMED_ACCOUNTS, today, ...found]
  const readSet = Object.fromEntries([resource, ...joinedTables].map((table) => [table, 'columns'] as const))
  const statement = sumStatement(`sum_${resource}`, text, found.length)
  const { rows } = await reader.query<AccountTotals>({ ...statement, values, readSet })
  const [sums] = rows
  if (!sums) throw new Error('accounts: sum statement returned no row')
  return sums
}

const PAYMENTS = { receivables: 'receivable_payments', payables: 'payable_payments' } as const

/** Accounts of a receipt: as many as one payment has at most. */
const MAX_LINES = 50

/** An account of a receipt, with the payment that the receipt is of. */
export interface ReceiptLine<P> {
  readonly account: AccountObject<P>
  readonly payment: AccountPayment
}

/** Accounts that were paid together, the oldest due date first; empty if there is no such receipt. */
export async function readAccountReceipt<P>(
  reader: Reader,
  side: BalanceSide,
  receipt: number,
): Promise<ReceiptLine<P>[]> {
  const { rows } = await reader.query<{ account: AccountObject<P>; payment_id: number }>({
    name: `account_receipt_${side}`,
    text: `select t.doc as account, p.revision as payment_id
      from ${t[PAYMENTS[side]]} p join ${t[side]} t on t.company_id = p.company_id and t.id = p.account_id
      where p.company_id = $1 and p.receipt_number = $2 and p.reverses is null
      order by t.due_date, t.id limit ${MAX_LINES}`,
    values: [receipt],
  })
  return rows.flatMap(({ account, payment_id }) => {
    const payment = account.payments.find(({ id }) => id === payment_id)
    return payment ? [{ account, payment }] : []
  })
}

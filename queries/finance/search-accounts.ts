import type { Pool } from 'pg'
import type { Refusal } from '#domain/refusal.ts'
import { containing } from '../contains.ts'
import { listInOrder, NEWEST_FIRST, type Page, type Paging } from '../list.ts'
import { type Order, TODAY } from '../list-statement.ts'
import { type Sum, sum } from '../sums.ts'
import type { AccountConditions, AccountListing } from './list-accounts.ts'

/** The accounts that people look at; `pending` where they say nothing. */
export interface AccountSearch {
  readonly view?: 'pending' | 'overdue' | 'settled' | 'all'
  /** A part of the other party's name. */
  readonly party_name?: string
  readonly due_from?: string
  readonly due_to?: string
}

/** What is due first comes first. */
const BY_DUE_DATE: Order = {
  name: 'due_date',
  columns: [
    { name: 'due_date', type: 'date' },
    { name: 'id', type: 'bigint' },
  ],
}

const LAST_SETTLED_FIRST: Order = {
  name: 'last_settled',
  columns: [
    { name: 'settled_on', type: 'date' },
    { name: 'id', type: 'bigint' },
  ],
  descending: true,
}

interface View {
  readonly conditions: AccountConditions
  readonly order: Order
}

const VIEWS: Readonly<Record<NonNullable<AccountSearch['view']>, View>> = {
  pending: { conditions: { status: 'pending' }, order: BY_DUE_DATE },
  overdue: { conditions: { overdue: true }, order: BY_DUE_DATE },
  settled: { conditions: { settled: true }, order: LAST_SETTLED_FIRST },
  all: { conditions: {}, order: NEWEST_FIRST },
}

function conditionsOf({ view = 'pending', party_name, due_from, due_to }: AccountSearch): AccountConditions {
  const named = party_name === undefined ? undefined : containing(party_name)
  return { ...VIEWS[view].conditions, party_name: named, due_from, due_to }
}

/** Lists accounts as people look for them: pending ones by due date, settled ones by accounting date. */
export function searchAccounts(
  pool: Pool,
  listing: AccountListing,
  companyId: number,
  { limit, cursor, ...search }: Paging & AccountSearch,
  today: string,
): Promise<Page | Refusal> {
  const { view = 'pending' } = search
  const query: Paging & AccountConditions = { ...conditionsOf(search), limit, cursor }
  return listInOrder<AccountConditions>(pool, listing, VIEWS[view].order, companyId, query, today)
}

/** What a search finds, added up. */
export interface FoundSums {
  readonly found: Sum
  readonly overdue: Sum
}

/** No more accounts than these are added up: a sum of one more says so by its count. */
export const MOST_SUMMED = 10_000

/** Adds up what a search finds. `today` decides what is overdue. */
export async function sumAccounts(
  pool: Pool,
  { resource, where, filters }: AccountListing,
  companyId: number,
  search: AccountSearch,
  today: string,
): Promise<FoundSums> {
  const conditions = Object.entries(conditionsOf(search)).filter(([, value]) => value !== undefined)
  const wanted = conditions.map(([name], position) => filters[name as keyof typeof filters](`$${4 + position}`, TODAY))
  const { rows } = await pool.query<FoundSums>(
    `select ${sum('amount_cents', 'true')} as found, ${sum('amount_cents', 'is_overdue')} as overdue
     from (
       select t.amount_cents, t.status = 'pending' and t.due_date < ${TODAY} as is_overdue
       from ${resource} t
       where ${['t.company_id = $1', where, ...wanted].join(' and ')}
       limit $2::bigint + 1
     ) found`,
    [companyId, MOST_SUMMED, today, ...conditions.map(([, value]) => value)],
  )
  const [sums] = rows
  if (!sums) throw new Error('adding up always answers a row')
  return sums
}

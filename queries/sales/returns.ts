import type { Pool } from 'pg'
import { addDays, startOfDay } from '#domain/instant.ts'
import type { Refusal } from '#domain/refusal.ts'
import { type ListOrder, orderBy } from '../list-statement.ts'
import {
  type FoundRecords,
  getBy,
  type Listing,
  type ListPaging,
  list,
  listInOrder,
  type Page,
  type Paging,
} from '../records.ts'

interface Filters {
  readonly sale_id?: number | undefined
  readonly external_id?: string | undefined
  readonly offline_id?: string | undefined
  readonly cash_session_id?: string | undefined
}

/** First and last day of return, both inclusive, in the company's calendar. */
interface Days {
  readonly returned_from?: string | undefined
  readonly returned_to?: string | undefined
}

interface Period {
  readonly returned_since?: string | undefined
  readonly returned_before?: string | undefined
}

const returnListing: Listing<Filters & Period> = {
  resource: 'returns',
  from: 'returns t',
  record: 't.doc',
  filters: {
    sale_id: (value) => `t.sale_id = ${value}::bigint`,
    external_id: (value) => `t.external_id = ${value}::text`,
    offline_id: (value) => `t.offline_id = ${value}::text`,
    cash_session_id: (value) => `t.cash_session_id = ${value}::text`,
    returned_since: (value) => `t.returned_at >= ${value}::timestamptz`,
    returned_before: (value) => `t.returned_at < ${value}::timestamptz`,
  },
}

const periodOf = ({ returned_from, returned_to }: Days, timezone: string): Period => ({
  returned_since: returned_from && startOfDay(returned_from, timezone),
  returned_before: returned_to && startOfDay(addDays(returned_to, 1), timezone),
})

type ReturnFilters = Filters & Days & { readonly timezone: string }

/** `timezone` is the company's; it decides where days begin. */
export const listReturns = (
  pool: Pool,
  companyId: number,
  { timezone, returned_from, returned_to, ...query }: ListPaging & ReturnFilters,
): Promise<Page | Refusal> =>
  list(pool, returnListing, companyId, { ...query, ...periodOf({ returned_from, returned_to }, timezone) })

/** Latest return first: tills may upload those of earlier hours. */
const LAST_RETURNED_FIRST: ListOrder = { ...orderBy('last_returned', 'returned_at', 'timestamptz'), descending: true }

/** For people, latest first. */
export const listLatestReturns = (
  pool: Pool,
  companyId: number,
  { timezone, returned_from, returned_to, ...query }: Paging & ReturnFilters,
): Promise<Page | Refusal> =>
  listInOrder(pool, returnListing, LAST_RETURNED_FIRST, companyId, {
    ...query,
    ...periodOf({ returned_from, returned_to }, timezone),
  })

export const getReturn = (pool: Pool, companyId: number, id: number): Promise<FoundRecords> =>
  getBy(pool, returnListing, companyId, 'id', id)

/** Cents given back of each line of a sale, and of its delivery fee. */
export interface ReturnedLines {
  readonly cents: readonly number[]
  readonly delivery_fee: number
}

/** Nothing is given back of a sale without returns. */
export async function getReturnedAmounts(pool: Pool, companyId: number, saleId: number): Promise<ReturnedLines> {
  const { rows } = await pool.query<{ returned: ReturnedLines | null }>({
    name: 'returned_amounts',
    text: 'select returned from sales where company_id = $1 and id = $2',
    values: [companyId, saleId],
  })
  return rows[0]?.returned ?? { cents: [], delivery_fee: 0 }
}

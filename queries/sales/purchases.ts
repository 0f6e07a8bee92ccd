import type { Refusal } from '#domain/refusal.ts'
import { centsOf } from '#projections/sale-payments.ts'
import type { ListOrder } from '../list-statement.ts'
import type { Reader } from '../reader.ts'
import { listInOrder, type Page, type Paging } from '../records.ts'
import { moneySum } from '../sums.ts'
import { t } from '../table-names.ts'
import { LAST_SOLD_FIRST, saleListing } from './sales.ts'

/** Purchases of a customer without cancelled sales, less what was given back. */
export interface Purchases {
  readonly count: number
  readonly amount: string
  /** UTC; null where there is none. */
  readonly last_sold_at: string | null
}

/** Bound of sales in a sum; a count of one more means that there are more. */
export const MAX_PURCHASES = 50_000

const PURCHASES = `
  select count(*) as count, ${moneySum('sum(cents)')} as amount, max(sold_at) as last_sold_at
  from (
    select t.total_cents - ${centsOf("t.doc ->> 'returned_total'")} - ${centsOf("t.doc ->> 'refunded_total'")} as cents, t.sold_at
    from ${t.sales} t
    where t.company_id = $1 and t.customer_id = $2 and t.customer_id is not null and t.status = 'completed'
    limit $3::bigint + 1) bought`

export async function sumPurchases(reader: Reader, customerId: number): Promise<Purchases> {
  const values = [customerId, MAX_PURCHASES]
  const readSet = { sales: 'columns' } as const
  const { rows } = await reader.query<Purchases>({ name: 'sum_purchases', text: PURCHASES, values, readSet })
  return rows[0] as Purchases
}

/** No index: a customer's sales are few. */
const LAST_BOUGHT_FIRST: ListOrder = { ...LAST_SOLD_FIRST, name: 'last_bought', isSorted: true }

/** The sales of a customer, latest first. */
export const listPurchases = (
  reader: Reader,
  query: Paging & { readonly customer_id: number },
): Promise<Page | Refusal> => listInOrder(reader, saleListing, LAST_BOUGHT_FIRST, query)

import type { Refusal } from '#domain/refusal.ts'
import type { Queryable } from '#postgres/database.ts'
import { centsOf } from '#projections/sale-payments.ts'
import type { ListOrder } from '../list-statement.ts'
import { withReadSet } from '../read-set.ts'
import { listInOrder, type Page, type Paging } from '../records.ts'
import { moneySum } from '../sums.ts'
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
    from sales t
    where t.company_id = $1 and t.customer_id = $2 and t.customer_id is not null and t.status = 'completed'
    limit $3::bigint + 1) bought`

export async function sumPurchases(pool: Queryable, companyId: number, customerId: number): Promise<Purchases> {
  const values = [companyId, customerId, MAX_PURCHASES]
  const readSet = { sales: 'columns' } as const
  const { rows } = await pool.query<Purchases>(withReadSet({ name: 'sum_purchases', text: PURCHASES, values, readSet }))
  return rows[0] as Purchases
}

/** No index: a customer's sales are few. */
const LAST_BOUGHT_FIRST: ListOrder = { ...LAST_SOLD_FIRST, name: 'last_bought', isSorted: true }

/** The sales of a customer, latest first. */
export const listPurchases = (
  pool: Queryable,
  companyId: number,
  query: Paging & { readonly customer_id: number },
): Promise<Page | Refusal> => listInOrder(pool, saleListing, LAST_BOUGHT_FIRST, companyId, query)

import { returnsIn } from '../sales/reconciliation.ts'
import { moneySum } from '../sums.ts'
import { t } from '../table-names.ts'

/** Completed sales of one seller. */
export interface SellerSales {
  /** Users by their present name; null for sales without a seller. */
  readonly seller: { readonly user_id: number | null; readonly name: string | null } | null
  readonly count: number
  readonly gross: string
  /** Given back in the period of sales of any time. */
  readonly returned: string
  /** Negative if more was given back than sold. */
  readonly net: string
}

/** Names are free text: a period may have any number of them. */
const MAX_SELLERS = 1_000

/**
 * SQL of a JSON list of SellerSales, highest gross first, over the completed sales from one instant until before
 * another, with what was given back in that time. $1: company. Their sum is the gross of the sales, unless there are more sellers than the limit.
 */
export const salesBySeller = (from: string, before: string): string => `(
  select coalesce(json_agg(json_build_object(
      'seller', case when each.seller_id is not null or each.seller_name is not null
        then json_build_object('user_id', each.seller_id, 'name', coalesce(u.doc ->> 'name', each.seller_name)) end,
      'count', each.sold, 'gross', ${moneySum('each.cents')}, 'returned', ${moneySum('each.returned')},
      'net', ${moneySum('each.cents - each.returned')}) order by each.cents desc, each.seller_id, each.seller_name), '[]')
  from (
    select seller_id, seller_name, sum(sold) as sold, sum(cents) as cents, sum(returned) as returned
    from (
      select seller_id, seller_name, count(*) as sold, sum(total_cents) as cents, 0 as returned
      from ${t.sales}
      where company_id = $1 and sold_at >= ${from}::timestamptz and sold_at < ${before}::timestamptz and status = 'completed'
      group by seller_id, seller_name
      union all
      select seller_id, seller_name, 0, 0, cents
      from (${returnsIn(`${from}::timestamptz`, `${before}::timestamptz`, ', t.seller_id, t.seller_name')}) r where way is null
    ) both_parts
    group by seller_id, seller_name order by cents desc, seller_id, seller_name limit ${MAX_SELLERS}
  ) each left join ${t.users} u on u.company_id = $1 and u.id = each.seller_id)`

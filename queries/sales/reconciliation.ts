import { fromBigCents } from '#domain/money.ts'
import { centsOf, waysOf } from '#projections/sale-payments.ts'
import type { Sum } from '../sums.ts'
import { t } from '../table-names.ts'

/**
 * How the sales of a period become its takings (PANEL-420): sold − cancelled − returned = net. A cancellation belongs
 * to the day of its sale, a return to its own day.
 */
export interface Reconciliation {
  /** All sales, also those cancelled since. */
  readonly sold: Sum
  readonly cancelled: Sum
  readonly returned: Sum
  /** Negative if more was returned than sold. */
  readonly net: string
}

/** The same of one way of paying, without change; the amounts of all ways sum to those of the sales. */
export interface WayReconciliation extends Reconciliation {
  /** Id of the payment type; empty for what no payment states. */
  readonly key: string
  /** Null if the company has no such payment type. */
  readonly name: string | null
  readonly is_cash: boolean
}

export interface SalesReconciliation extends Reconciliation {
  /** Largest net first. */
  readonly ways: readonly WayReconciliation[]
}

/** Figures of completed sales, cancelled ones or returns, as SQL sums them up. */
export interface SumsOfKind {
  readonly kind: 'completed' | 'cancelled' | 'returned'
  /** Null for whole sales. */
  readonly way: string | null
  readonly count: number
  /** Of any size. */
  readonly cents: string
}

export interface WayName {
  readonly id: number
  readonly name: string
  readonly is_cash: boolean
}

interface Figure {
  readonly count: number
  readonly cents: bigint
}

const NOTHING: Figure = { count: 0, cents: 0n }

function sumOf(rows: readonly SumsOfKind[], kind: SumsOfKind['kind']): Figure {
  return rows
    .filter((row) => row.kind === kind)
    .reduce((sum, { count, cents }) => ({ count: sum.count + count, cents: sum.cents + BigInt(cents) }), NOTHING)
}

const toSum = ({ count, cents }: Figure): Sum => ({ count, amount: fromBigCents(cents) })

/** Of the rows of one group: whole sales, or one way. */
export function reconcile(rows: readonly SumsOfKind[]): Reconciliation {
  const [completed, cancelled, returned] = [sumOf(rows, 'completed'), sumOf(rows, 'cancelled'), sumOf(rows, 'returned')]
  const sold = { count: completed.count + cancelled.count, cents: completed.cents + cancelled.cents }
  return {
    sold: toSum(sold),
    cancelled: toSum(cancelled),
    returned: toSum(returned),
    net: fromBigCents(sold.cents - cancelled.cents - returned.cents),
  }
}

/** With its ways of paying. */
export function reconcileSales(rows: readonly SumsOfKind[], names: readonly WayName[]): SalesReconciliation {
  const nameOf = new Map(names.map((type) => [String(type.id), type]))
  const keys = [...new Set(rows.flatMap(({ way }) => way ?? []))]
  const ways = keys.map((key) => {
    const { name = null, is_cash = false } = nameOf.get(key) ?? {}
    return { key, name, is_cash, ...reconcile(rows.filter(({ way }) => way === key)) }
  })
  const netOf = ({ net }: WayReconciliation) => Number(net)
  ways.sort((a, b) => netOf(b) - netOf(a) || (a.key < b.key ? -1 : 1))
  return { ...reconcile(rows.filter(({ way }) => way === null)), ways }
}

/** SQL of the payment types as JSON, for `reconcileSales`. $1: company. */
export const WAY_NAMES = `(select coalesce(json_agg(json_build_object(
  'id', t.id, 'name', t.doc -> 'name', 'is_cash', t.doc -> 'is_cash')), '[]') from ${t.payment_types} t where t.company_id = $1)`

/**
 * SQL of a lateral subquery `(way, cents, count)` of a return `r` of a sale `t`: the whole, with the way null, and each
 * way in which it was given back. A refund of an order is in the way of the sale's largest payment.
 */
const WAYS_OF_RETURN = `(
  select null::text as way, r.cents, case when r.is_reversal then -1 when r.order_id is null then 1 else sign(r.cents)::integer end as count
  union all
  select w.payment_type_id::text, w.cents, case when r.is_reversal then -1 else 1 end from json_to_recordset(r.ways) w (payment_type_id bigint, cents bigint)
  union all
  (select w.way, r.cents, sign(r.cents)::integer from ${waysOf('t')} w where r.order_id is not null
   order by w.cents desc, w.way limit 1))`

/**
 * SQL of the returns in a period: goods that came back, and refunds of orders, each as a whole and by way. `t` is the
 * sale, for further columns and conditions. A cancelled sale of an order has none: its cancellation is of the whole.
 * Goods of an order count no money: its refunds do. $1: company.
 */
export const returnsIn = (from: string, to: string, columns = '', conditions = ''): string => `
  select w.way, w.cents, w.count${columns}
  from ${t.sale_returns} r
  join ${t.sales} t on t.company_id = r.company_id and t.id = r.sale_id
    and (r.order_id is null or (t.status = 'completed' and r.cents <> 0))
  cross join lateral ${WAYS_OF_RETURN} w
  where r.company_id = $1 and r.returned_at >= ${from} and r.returned_at < ${to}${conditions}`

/**
 * SQL of what came back by item in a period: `(key, cents, thousandths, sale)`; the key is empty for goods outside the
 * catalog. Goods of an order have the part of what was paid for them, whatever was refunded.
 */
export const returnedItemsIn = (from: string, to: string, conditions = ''): string => `
  select coalesce(i.catalog_item_id::text, '') as key, i.cents, i.thousandths
  from ${t.sale_returns} r
  join ${t.sales} t on t.company_id = r.company_id and t.id = r.sale_id and (r.order_id is null or t.status = 'completed')
  cross join lateral json_to_recordset(r.items) i (catalog_item_id bigint, thousandths bigint, cents bigint)
  where r.company_id = $1 and r.returned_at >= ${from} and r.returned_at < ${to}${conditions}`

const DELIVERY_FEE = centsOf("t.doc ->> 'delivery_fee'")

/**
 * SQL of what the returns of a period take from units and margin, as one row `(units, cents, known_cents, cost_cents)`. The cost of a
 * sale is known as a whole: goods that went back to stock take the part of it that they have of the goods' price, those of
 * orders too; others take none, because their cost is lost. $1: company.
 */
export const returnedCostsIn = (from: string, to: string): string => `
  select coalesce(sum(g.units), 0)::text as units, coalesce(sum(r.cents), 0)::text as cents,
    coalesce(sum(r.cents) filter (where t.cost_cents is not null), 0)::text as known_cents,
    coalesce(sum(round(t.cost_cents * g.restocked_cents::numeric / nullif(t.total_cents - ${DELIVERY_FEE}, 0))), 0)::text as cost_cents
  from ${t.sale_returns} r
  join ${t.sales} t on t.company_id = r.company_id and t.id = r.sale_id and (r.order_id is null or t.status = 'completed')
  cross join lateral (
    select coalesce(sum(i.cents) filter (where i.restock), 0) as restocked_cents,
      sum(case when i.thousandths % 1000 = 0 then i.thousandths / 1000 else 1 end) as units
    from json_to_recordset(r.items) i (cents bigint, thousandths bigint, restock boolean)) g
  where r.company_id = $1 and r.returned_at >= ${from} and r.returned_at < ${to}`

/** SQL of rows of `SumsOfKind` from a subquery `r` of `returnsIn`: of whole sales and by way. */
export const sumReturns = (returns: string): string => `
  select 'returned' as kind, way, coalesce(sum(count), 0)::integer as count, coalesce(sum(cents), 0)::text as cents
  from (${returns}) r group by way`

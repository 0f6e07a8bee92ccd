import { fromBigCents } from '#domain/money.ts'
import { waysOf } from '#projections/sale-payments.ts'
import type { ReadScope } from '../read-set.ts'
import type { Sum } from '../sums.ts'

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
  /** A text where it may exceed what JavaScript's numbers count. */
  readonly cents: number | string
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
  'id', t.id, 'name', t.doc -> 'name', 'is_cash', t.doc -> 'is_cash')), '[]') from payment_types t where t.company_id = $1)`

/**
 * SQL of the returns of completed sales in a period, with `t`, the sale, for further conditions. So far refunds of
 * orders; the largest payment of a sale is the way of its returns. A cancelled sale has none: its cancellation is of the
 * whole. $1: company.
 */
export const returnsIn = (from: string, to: string, columns: string, conditions = ''): string => `
  select r.cents, sign(r.cents)::integer as count, ${columns}
  from sale_returns r
  join sales t on t.company_id = r.company_id and t.id = r.sale_id and t.status = 'completed'
  where r.company_id = $1 and r.returned_at >= ${from} and r.returned_at < ${to}${conditions}`

/** SQL of the way of a sale's returns. */
export const RETURNED_BY = `(select w.way from ${waysOf('t')} w order by w.cents desc, w.way limit 1) as way`

/** SQL of rows of `SumsOfKind` of whole sales from a subquery `r` of `returnsIn`. */
export const sumReturns = (returns: string, way = 'null::text'): string => `
  select 'returned' as kind, ${way} as way, coalesce(sum(r.count), 0)::integer as count, coalesce(sum(r.cents), 0)::text as cents
  from (${returns}) r`

/** Orders with returns in a period: $1 company, $2 and $3 its start and end. */
export const returnedOrders = (values: readonly [number, string, string]): ReadScope => ({
  text: `select distinct order_id as id from sale_returns
    where company_id = $1 and returned_at >= $2::timestamptz and returned_at < $3::timestamptz`,
  values: [...values],
  readSet: {},
})

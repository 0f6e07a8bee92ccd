import { fromBigCents } from '#domain/money.ts'
import { centsSql, sellerKeySql, unitsSql, waysSql } from '#projections/cash-takings.ts'
import { COARSE_ROLLUPS, spanStartSql } from '#projections/sales-rollups.ts'
import type { Sum } from './list-statement.ts'
import type { Reader } from './reader.ts'
import { t } from './table-names.ts'

/**
 * How the sales of a period become its takings: sold − cancelled − returned = net. A cancellation belongs
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
  select w.payment_type_id::text, w.cents, case when r.is_reversal then -1 else 1 end from json_to_recordset(r.refunds) w (payment_type_id bigint, cents bigint)
  union all
  (select w.way, r.cents, sign(r.cents)::integer from ${waysSql('t')} w where r.order_id is not null
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
export const returnedItemsSql = (from: string, to: string, conditions = ''): string => `
  select coalesce(i.catalog_item_id::text, '') as key, i.cents, i.thousandths
  from ${t.sale_returns} r
  join ${t.sales} t on t.company_id = r.company_id and t.id = r.sale_id and (r.order_id is null or t.status = 'completed')
  cross join lateral json_to_recordset(r.items) i (catalog_item_id bigint, thousandths bigint, cents bigint)
  where r.company_id = $1 and r.returned_at >= ${from} and r.returned_at < ${to}${conditions}`

const DELIVERY_FEE = centsSql("t.doc ->> 'delivery_fee'")

/**
 * SQL of what the returns of a period take from units and margin, as one row `(units, cents, known_cents, cost_cents)`. The cost of a
 * sale is known as a whole: goods that went back to stock take the part of it that they have of the goods' price, those of
 * orders too; others take none, because their cost is lost. $1: company.
 */
const returnedCostsIn = (from: string, to: string): string => `
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

/** Count and amount of some sales, in cents. */
export interface SalesFigure {
  readonly count: number
  readonly cents: bigint
}

/** Figures of one bar. */
export interface SalesBar extends SalesFigure {
  /** Units sold (`unitsSql`). */
  readonly units: bigint
  /** The part of `cents` with known costs, and these costs. */
  readonly known_cents: bigint
  readonly cost_cents: bigint
}

export interface NamedFigure extends SalesFigure {
  /** Id of an item, an origin, a seller (`sellerKeySql`). */
  readonly key: string
  /** For items. */
  readonly name: string | null
}

/** What returns of a period take from the margin of its sales. */
export type ReturnedCosts = Omit<SalesBar, 'count'>

/**
 * Rollup figures of a period in one snapshot. Bars are of completed sales; items, origins and sellers are net of returns.
 */
export interface SalesSums extends SalesReconciliation {
  /** By bar, starting with the first. */
  readonly bars: readonly SalesBar[]
  /** The comparison period, up to its end. */
  readonly before: SalesBar
  /** Of the returns of the period, and of the comparison period up to its end. */
  readonly returned_costs: ReturnedCosts
  readonly returned_costs_before: ReturnedCosts
  /** Cents of each bar of the whole comparison period. */
  readonly bars_before: readonly bigint[]
  /** Best-selling items with quantities in thousandths, less what came back in the period. */
  readonly items: readonly (NamedFigure & { readonly quantity: bigint; readonly unit: string | null })[]
  /** The 50 largest by amount, less what was given back of their sales in the period. */
  readonly origins: readonly NamedFigure[]
  /** Likewise. */
  readonly sellers: readonly NamedFigure[]
  /** The first sale (UTC); null before it. */
  readonly first_sold_at: string | null
  /** Whether the rollup covers all sales of the ledger. */
  readonly is_complete: boolean
}

/** The period, in UTC instants. */
export interface SalesPeriod {
  /** Start of each bar and end of the last; they coincide with spans. */
  readonly bounds: readonly string[]
  /** The period to compare with: from the start of a span to any moment; `bounds` of its bars as above. */
  readonly before: { readonly from: string; readonly to: string; readonly bounds: readonly string[] }
}

const TOP_ITEMS = 8
/** Origins and sellers per answer. */
const MOST_NAMED = 50

const [DAY, MONTH] = COARSE_ROLLUPS.map(({ minutes }) => String(minutes)) as [string, string]
/** SQL of the first span start in the period. */
const firstSpan = (minutes: string): string =>
  `to_timestamp(ceil(extract(epoch from p.lower) / (60 * ${minutes})) * (60 * ${minutes}))`

const [FROM, TO] = ['($2::timestamptz[])[1]', '($2::timestamptz[])[cardinality($2::timestamptz[])]']

/** Rows of one kind within the period; they are adjacent in the index. */
const ofKind = (kind: string): string => `${t.sales_sums}
  where company_id = $1 and kind = '${kind}' and span >= ($2::timestamptz[])[1] and span < ($2::timestamptz[])[cardinality($2::timestamptz[])]`

/** Bounds of the days (d1 to d2) and months (m1 to m2) of the period that have coarse rollups (COARSE_ROLLUPS). */
const WIDE_BOUNDS = `
  select p.*, d.*, m.m1, greatest(m.m1, ${spanStartSql('d.d2', MONTH)}) as m2
  from (select ($2::timestamptz[])[1] as lower, ($2::timestamptz[])[cardinality($2::timestamptz[])] as upper) p
  cross join lateral (select ${firstSpan(DAY)} as d1) c
  cross join lateral (
    select c.d1, greatest(c.d1, ${spanStartSql('least(p.upper, coalesce((select widened_to from a), to_timestamp(0)))', DAY)}) as d2) d
  cross join lateral (select least(d.d2, ${firstSpan(MONTH)}) as m1) m`

/** Forces an index range although the planner does not know the bounds. */
const between = (kind: string, from: string, to: string): string => `
  select key, sales, cents, quantity from ${t.sales_sums}
  where company_id = $1 and kind = '${kind}' and span >= (select ${from} from w) and span < (select ${to} from w)`

/** Figures by item, from the coarsest available spans. */
const ITEMS = `select key, sum(sales) as count, sum(cents) as cents, sum(quantity) as quantity from (${[
  between('item', 'lower', 'least(d1, upper)'),
  between('item', 'd2', 'upper'),
  between('item_day', 'd1', 'm1'),
  between('item_day', 'm2', 'd2'),
  between('item_month', 'm1', 'm2'),
  `select key, 0 as sales, -cents as cents, -thousandths as quantity from (${returnedItemsSql(FROM, TO)}) r`,
].join(' union all ')}) s group by key`

/** `a`: how far the rollup reaches; `w`: the bounds of coarse spans. */
const REACH = `with a as (select * from ${t.rollup_states} where company_id = $1), w as materialized (${WIDE_BOUNDS})`

const SOLD_QUANTITIES = {
  name: 'sold_quantities',
  text: `${REACH}
    select key, quantity::text as quantity from (${ITEMS}) each where key = any($3::text[])`,
}

/** Quantities of items sold in a period, less what came back, in thousandths by id; `bounds` as of a `SalesPeriod`. */
export async function soldQuantities(
  reader: Reader,
  ids: readonly number[],
  bounds: readonly [from: string, to: string],
): Promise<ReadonlyMap<number, bigint>> {
  const values = [bounds, ids.map(String)]
  const { rows } = await reader.query<{ key: string; quantity: string }>({ ...SOLD_QUANTITIES, values })
  return new Map(rows.map(({ key, quantity }) => [Number(key), BigInt(quantity)]))
}

/** Items of which the stock is less than a day's part of what was sold in the days; `$3` is their number, in thousandths. */
const SHORT_STOCKS = {
  name: 'short_stocks',
  text: `${REACH}
    select i.id, i.doc ->> 'name' as name, s.stock::text as stock
    from (${ITEMS}) each
    join ${t.item_stocks} s on s.company_id = $1 and s.id = nullif(each.key, '')::bigint
    join ${t.catalog_items} i on i.company_id = $1 and i.id = s.id
    where i.deleted_at is null and s.stock > 0 and s.stock * $3::bigint < each.quantity
    order by s.stock / each.quantity, i.id limit ${MOST_NAMED}`,
}

/** Stocked items, the shortest first. */
export async function findShortStocks(
  reader: Reader,
  bounds: readonly [from: string, to: string],
  days: number,
): Promise<readonly { readonly id: number; readonly name: string; readonly stock: string }[]> {
  const { rows } = await reader.query<{ id: number; name: string; stock: string }>({
    ...SHORT_STOCKS,
    values: [bounds, days * 1_000],
  })
  return rows
}

/** SQL: the rollup has all sales of the ledger. */
const IS_COMPLETE = `coalesce((select is_filled and coalesce((
        select (s.changed_at, s.revision) <= (a.changed_at, a.revision) from ${t.sales} s where s.company_id = $1
        order by s.changed_at desc, s.revision desc limit 1), true) from a), false)`

const TAKINGS = {
  name: 'takings_by_bar',
  text: `${REACH}
    select width_bucket(span, $2::timestamptz[]) as n, sum(cents)::text as cents, ${IS_COMPLETE} as is_complete
    from ${ofKind('sale')} group by 1`,
}

/** Cents of the completed sales of each bar; null while the rollup lacks sales. */
export async function sumTakings(reader: Reader, bounds: SalesPeriod['bounds']): Promise<readonly bigint[] | null> {
  const { rows } = await reader.query<{ n: number; cents: string; is_complete: boolean }>({
    ...TAKINGS,
    values: [bounds],
  })
  if (rows.some(({ is_complete }) => !is_complete)) return null
  const byBar = new Map(rows.map(({ n, cents }) => [n, BigInt(cents)]))
  return bounds.slice(1).map((_, place) => byBar.get(place + 1) ?? 0n)
}

const listed = (figures: string): string => `coalesce((
  select json_agg(json_build_object('key', g.key, 'name', null, 'count', g.count, 'cents', g.cents::text) order by g.cents desc, g.key)
  from (select * from (${figures}) each order by cents desc, key limit ${MOST_NAMED}) g), '[]')`

/** Less what was given back of their sales. */
const netBy = (
  kind: 'origin' | 'seller',
  key: string,
): string => `select key, sum(sales) as count, sum(cents) as cents from (
  select key, sales, cents from ${ofKind(kind)}
  union all
  select key, 0, -cents from (${returnsIn(FROM, TO, `, ${key} as key`)}) r where way is null) s group by key`

/** Rows of `SumsOfKind`; returns are few, and read one by one. */
const RECONCILED = `
  ${(
    [
      ['sale', 'completed', 'null'],
      ['cancelled', 'cancelled', 'null'],
      ['payment', 'completed', 'key'],
      ['cancelled_payment', 'cancelled', 'key'],
    ] as const
  )
    .map(
      ([
        kind,
        of,
        way,
      ]) => `select '${of}' as kind, ${way} as way, coalesce(sum(sales), 0) as count, coalesce(sum(cents), 0)::text as cents
        from ${ofKind(kind)}${way === 'key' ? ' group by key' : ''}`,
    )
    .join(' union all ')}
  union all
  select 'returned', way, coalesce(sum(count), 0), coalesce(sum(cents), 0)::text
  from (${returnsIn(FROM, TO)}) r group by way`

/** The comparison period may end inside a span: the sales of its last span are read one by one. */
const WIDTH = '(60 * (select span_minutes from a))'
const LAST_SPAN = `to_timestamp(floor(extract(epoch from $4::timestamptz) / ${WIDTH}) * ${WIDTH})`

/** Sums of any size, which are read as texts. */
const BAR_SUMS = ['cents', 'units', 'known_cents', 'cost_cents'] as const satisfies readonly (keyof SalesBar)[]
const BAR_FIGURES = `coalesce(sum(count), 0) as count, ${BAR_SUMS.map((name) => `coalesce(sum(${name}), 0)::text as ${name}`).join(', ')}`

const SALES_SUMS = {
  name: 'panel_sales_sums',
  text: `${REACH}
    select
      coalesce((select json_agg(b) from (
        select n, ${BAR_FIGURES} from (
          select width_bucket(span, $2::timestamptz[]) as n, sales as count, cents, quantity as units, known_cents, cost_cents
          from ${ofKind('sale')}) s group by 1) b), '[]') as bars,
      (select json_agg(f) from (${RECONCILED}) f) as figures,
      ${WAY_NAMES} as types,
      (select to_json(b) from (select ${BAR_FIGURES} from (
        select sum(sales) as count, sum(cents) as cents, sum(quantity) as units, sum(known_cents) as known_cents, sum(cost_cents) as cost_cents
        from ${t.sales_sums} where company_id = $1 and kind = 'sale' and span >= $3::timestamptz and span < ${LAST_SPAN}
        union all
        select count(*), sum(total_cents), sum(${unitsSql('s')}), sum(total_cents) filter (where cost_cents is not null), sum(cost_cents)
        from ${t.sales} s
        where company_id = $1 and status = 'completed' and sold_at >= greatest(${LAST_SPAN}, $3::timestamptz) and sold_at < $4::timestamptz
      ) as both_parts) b) as before,
      (select to_json(c) from (${returnedCostsIn(FROM, TO)}) c) as returned_costs,
      (select to_json(c) from (${returnedCostsIn('$3::timestamptz', '$4::timestamptz')}) c) as returned_costs_before,
      coalesce((select json_agg(b) from (
        select width_bucket(span, $5::timestamptz[]) as n, sum(cents)::text as cents from ${t.sales_sums}
        where company_id = $1 and kind = 'sale' and span >= ($5::timestamptz[])[1] and span < ($5::timestamptz[])[cardinality($5::timestamptz[])]
        group by 1) b), '[]') as bars_before,
      coalesce((select json_agg(json_build_object('key', g.key, 'name', i.doc -> 'name', 'unit', i.doc -> 'unit', 'count', g.count, 'cents', g.cents::text, 'quantity', g.quantity::text)
          order by g.cents desc, g.key)
        from (select * from (${ITEMS}) each where key <> '' order by cents desc, key limit ${TOP_ITEMS}) g
        left join ${t.catalog_items} i on i.company_id = $1 and i.id = g.key::bigint), '[]') as items,
      ${listed(netBy('origin', 't.origin'))} as origins,
      ${listed(netBy('seller', sellerKeySql('t')))} as sellers,
      (select min(sold_at) from ${t.sales} where company_id = $1) as first_sold_at,
      ${IS_COMPLETE} as is_complete`,
}

/** A row of JSON, in which sums are texts. */
type Read<T> = { readonly [K in keyof T]: T[K] extends bigint ? string : T[K] }

interface Row extends Pick<SalesSums, 'first_sold_at' | 'is_complete'> {
  readonly before: Read<SalesBar>
  readonly returned_costs: Read<ReturnedCosts>
  readonly returned_costs_before: Read<ReturnedCosts>
  readonly items: readonly Read<SalesSums['items'][number]>[]
  readonly origins: readonly Read<NamedFigure>[]
  readonly sellers: readonly Read<NamedFigure>[]
  readonly bars_before: readonly { readonly n: number; readonly cents: string }[]
  readonly bars: readonly (Read<SalesBar> & { readonly n: number })[]
  readonly figures: readonly SumsOfKind[]
  readonly types: readonly WayName[]
}

const costsOf = ({ units, cents, known_cents, cost_cents }: Read<ReturnedCosts>): ReturnedCosts => ({
  units: BigInt(units),
  cents: BigInt(cents),
  known_cents: BigInt(known_cents),
  cost_cents: BigInt(cost_cents),
})

const barOf = ({ count, ...costs }: Read<SalesBar>): SalesBar => ({ count, ...costsOf(costs) })

const named = <F extends { readonly cents: string }>(figures: readonly F[]) =>
  figures.map(({ cents, ...figure }) => ({ ...figure, cents: BigInt(cents) }))

export const NO_SALES_BAR: SalesBar = { count: 0, cents: 0n, units: 0n, known_cents: 0n, cost_cents: 0n }

/** Reads the rollup as far as it has been refreshed (projections). */
export async function salesSums(reader: Reader, { bounds, before }: SalesPeriod): Promise<SalesSums> {
  const values = [bounds, before.from, before.to, before.bounds]
  const { rows } = await reader.query<Row>({ ...SALES_SUMS, values })
  const [row] = rows
  if (!row) throw new Error('sales rollup: statement returned no row')
  const byBar = new Map(row.bars.map(({ n, ...bar }) => [n, barOf(bar)]))
  const centsBefore = new Map(row.bars_before.map(({ n, cents }) => [n, BigInt(cents)]))
  return {
    ...reconcileSales(row.figures, row.types),
    is_complete: row.is_complete,
    before: barOf(row.before),
    returned_costs: costsOf(row.returned_costs),
    returned_costs_before: costsOf(row.returned_costs_before),
    items: named(row.items).map((item) => ({ ...item, quantity: BigInt(item.quantity) })),
    origins: named(row.origins),
    sellers: named(row.sellers),
    first_sold_at: row.first_sold_at,
    bars: bounds.slice(1).map((_, place) => byBar.get(place + 1) ?? NO_SALES_BAR),
    bars_before: before.bounds.slice(1).map((_, place) => centsBefore.get(place + 1) ?? 0n),
  }
}

import { centsOf, waysOf } from '#projections/sale-payments.ts'
import type { SaleObject } from '#projections/sales.ts'
import { sumStatement } from '../list-statement.ts'
import type { Reader } from '../reader.ts'
import { moneySum } from '../sums.ts'
import { t } from '../table-names.ts'
import { type Reconciliation, reconcile, returnedItemsIn, returnsIn, type SumsOfKind } from './reconciliation.ts'
import { type LatestSaleFilters, MAX_SCANNED_SALES, toSaleConditions } from './sales.ts'

/** Sums of the filtered sales. */
export interface SaleSums extends Reconciliation {
  /** Of the payment type in the filter. */
  readonly way: Reconciliation | null
  /** Of the item in the filter, less its part of discounts. */
  readonly item: ItemSums | null
  /** Scanned sales; one more than `MAX_SCANNED_SALES` means that there are earlier ones. */
  readonly scanned: number
}

/** Quantity and amount of an item in completed and in cancelled sales, and in returns of the days. */
interface ItemSums {
  readonly completed: ItemFigure
  readonly cancelled: ItemFigure
  readonly returned: ItemFigure
  /** Completed less returned; may be negative. */
  readonly net: ItemFigure
}

interface ItemFigure {
  readonly quantity: string
  readonly amount: string
}

/** Filters that an index answers; the others are checked on the rows that it finds. */
const INDEXED: readonly string[] = ['id', 'external_id', 'cash_session_id', 'sold_from', 'sold_before']

/** Cents and quantity of an item in a sale `s`. */
const itemIn = (item: string): string => `lateral (
  select sum(${centsOf("line ->> 'total'")} - coalesce((s.line_discounts ->> (place - 1)::integer)::bigint, 0)) as cents,
    sum((line ->> 'quantity')::numeric) as quantity
  from json_array_elements(s.doc -> 'items') with ordinality as lines (line, place)
  where line ->> 'catalog_item_id' = ${item}::bigint::text) i on s.is_found`

/** Quantity and cents of an item in sales of a status, and in returns `b`, as SQL. */
const soldItem = (status: SaleObject['status']) => ({
  quantity: `coalesce(sum(i.quantity) filter (where s.status = '${status}'), 0)`,
  cents: `coalesce(sum(i.cents) filter (where s.status = '${status}'), 0)`,
})
const RETURNED_ITEM = { quantity: 'coalesce(max(b.thousandths), 0) * 0.001', cents: 'coalesce(max(b.cents), 0)' }

const itemFigure = ({ quantity, cents }: { readonly quantity: string; readonly cents: string }): string =>
  `json_build_object('quantity', (${quantity})::numeric(30, 3)::text, 'amount', ${moneySum(`(${cents})`)})`

function itemFigures(): string {
  const [completed, cancelled] = [soldItem('completed'), soldItem('cancelled')]
  const net = {
    quantity: `${completed.quantity} - ${RETURNED_ITEM.quantity}`,
    cents: `${completed.cents} - ${RETURNED_ITEM.cents}`,
  }
  const figures = Object.entries({ completed, cancelled, returned: RETURNED_ITEM, net })
  return `json_build_object(${figures.map(([name, of]) => `'${name}', ${itemFigure(of)}`).join(', ')})`
}

/** A figure of `SumsOfKind` as JSON. */
const figure = (kind: SumsOfKind['kind'], count: string, cents: string): string =>
  `json_build_object('kind', '${kind}', 'way', null, 'count', ${count}, 'cents', coalesce(${cents}, 0)::text)`

/** Figures of the found sales `s` by status, as JSON of `SumsOfKind[]`. */
function figuresByStatus(cents: string): string {
  const figures = (['completed', 'cancelled'] as const).map((status) => {
    const filter = `filter (where s.is_found and s.status = '${status}')`
    return figure(status, `count(*) ${filter}`, `sum(${cents}) ${filter}`)
  })
  return `json_build_array(${figures.join(', ')})`
}

/** SQL of a filter in use. */
interface SaleCondition {
  readonly name: string
  readonly sql: string
}

const conjunction = (conditions: readonly SaleCondition[]): string =>
  conditions.map(({ sql }) => ` and ${sql}`).join('')

interface SumsRow {
  readonly sales: readonly SumsOfKind[]
  readonly way: readonly SumsOfKind[] | null
  readonly item: ItemSums | null
  readonly scanned: number
  readonly returned: readonly SumsOfKind[]
  readonly returned_way: readonly SumsOfKind[]
}

/**
 * Counts and sums people's filters. Returns are those of the days, of sales that the other filters find.
 */
export async function sumLatestSales(reader: Reader, filters: LatestSaleFilters): Promise<SaleSums> {
  const { listing, conditions } = toSaleConditions(filters)
  const given = Object.entries(conditions).filter(([, value]) => value !== undefined)
  const parameterOf = (name: string) => `$${given.findIndex(([one]) => one === name) + 3}`
  const sqlOf = given.map(([name]) => {
    const condition = listing.filters[name as keyof typeof listing.filters]
    return { name, sql: condition(parameterOf(name), '') }
  })
  const indexed = sqlOf.filter(({ name }) => INDEXED.includes(name))
  const checked = sqlOf.filter(({ name }) => !INDEXED.includes(name))
  const [isOfWay, isOfItem] = [conditions.payment_type_id !== undefined, conditions.item !== undefined]
  const needsDoc = isOfWay || isOfItem
  const returned = returnedBy(sqlOf, parameterOf, conditions)
  const text = `select ${figuresByStatus('s.total_cents')} as sales, count(s.status) as scanned,
      ${isOfWay ? figuresByStatus('w.cents') : 'null'} as way,
      ${isOfItem ? itemFigures() : 'null'} as item,
      ${returned.whole} as returned, ${returned.way} as returned_way
    from ${isOfItem ? `${returned.item} b left join ` : ''}(
      select t.total_cents, t.status${needsDoc ? ', t.doc, t.line_discounts' : ''}, true${conjunction(checked)} as is_found
      from ${t.sales} t
      where t.company_id = $1${listing.where ? ` and ${listing.where}` : ''}${conjunction(indexed)}
      order by t.sold_at desc
      limit (select $2::bigint + 1)
    ) s${isOfItem ? ' on true' : ''}
    ${isOfWay ? `left join lateral ${waysOf('s')} w on s.is_found and w.way = ${parameterOf('payment_type_id')}::bigint::text` : ''}
    ${isOfItem ? `left join ${itemIn(parameterOf('item'))}` : ''}`
  const values = [MAX_SCANNED_SALES, ...given.map(([, value]) => value)]
  const readSet = { ...(!needsDoc && { sales: 'columns' as const }), customers: 'columns' as const }
  const statement = sumStatement('sum_sales', text, given.length)
  const { rows } = await reader.query<SumsRow>({ ...statement, values, readSet })
  const { sales, way, returned: back, returned_way, ...row } = rows[0] as SumsRow
  return { ...row, ...reconcile([...sales, ...back]), way: way && reconcile([...way, ...returned_way]) }
}

/**
 * Returns of the days, as SQL: of whole sales, of the payment type in the filter, and of the item in it. The other
 * conditions are of the sale, which may have been paid in another way than a return of it.
 */
function returnedBy(
  conditions: readonly SaleCondition[],
  parameterOf: (name: string) => string,
  { status, item, payment_type_id, sold_from, sold_before }: Partial<Record<string, unknown>>,
): { readonly whole: string; readonly way: string; readonly item: string } {
  const from = sold_from === undefined ? `'-infinity'` : `${parameterOf('sold_from')}::timestamptz`
  const to = sold_before === undefined ? `'infinity'` : `${parameterOf('sold_before')}::timestamptz`
  const ofSale = (...others: readonly string[]) =>
    conjunction(conditions.filter(({ name }) => !['sold_from', 'sold_before', ...others].includes(name)))
  const sum = (way: string, ...others: readonly string[]) =>
    status === 'cancelled'
      ? `'[]'::json`
      : `(select json_build_array(${figure('returned', 'coalesce(sum(r.count), 0)', 'sum(r.cents)')})
          from (${returnsIn(from, to, '', ofSale(...others))}) r where r.way ${way})`
  return {
    whole: sum('is null'),
    way: sum(
      payment_type_id === undefined ? 'is null' : `= ${parameterOf('payment_type_id')}::bigint::text`,
      'payment_type_id',
    ),
    item: `(select sum(cents) as cents, sum(thousandths) as thousandths
      from (${returnedItemsIn(from, to, ofSale('item'))}) r
      where r.key = ${item === undefined ? `''` : `${parameterOf('item')}::bigint::text`})`,
  }
}

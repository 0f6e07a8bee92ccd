import type { Rollup } from '#ledger/projection.ts'
import { table } from '#ledger/table.ts'
import { centsOf, sellerOf, unitsOf, waysOf } from './sale-payments.ts'

/** Progress of a company's sales rollup. No row: not started. */
export interface SalesRollup {
  company_id: number
  /** Time and revision of the latest sale change in the rollup. */
  changed_at: string
  revision: number
  /** Width of a span: an hour, or 15 minutes if the company's days do not start on a full hour of UTC. */
  span_minutes: number
  /**
   * The first fill covers sales before this time, null before it starts; afterwards all sales are covered
   * (`is_filled`).
   */
  filled_to: string | null
  is_filled: boolean
  /** Start of a UTC day: coarse rollups cover sales before it; null before they start. */
  widened_to: string | null
}

/** Sums of a company's sales within a span. */
export interface SalesRollupRow {
  company_id: number
  kind: RollupKind
  /** Start of the span. */
  span: string
  /** Group within the kind: id of an item or payment type, origin, or seller; else empty. */
  key: string
  /** Number of sales; for items, of sale lines. */
  sales: number
  /** Sums are of any size. */
  cents: string
  /** Units (`unitsOf`); for items, quantity in thousandths. */
  quantity: string
  /** Part of `cents` with fully known costs, and these costs. */
  known_cents: string
  cost_cents: string
}

/** Kinds without `cancelled` in their name cover completed sales. */
export const ROLLUP_KINDS = ['sale', 'cancelled', 'origin', 'seller', 'item', 'payment', 'cancelled_payment'] as const
export type RollupKind = (typeof ROLLUP_KINDS)[number] | (typeof COARSE_ROLLUPS)[number]['kind']

/**
 * Coarse item rollups, each built from the finer one. Items differ from hour to hour but repeat within a month, so a
 * year needs a hundredth of the rows. Finished spans in UTC, which time zone changes do not affect.
 */
export const COARSE_ROLLUPS = [
  { kind: 'item_day', of: 'item', minutes: 24 * 60 },
  { kind: 'item_month', of: 'item_day', minutes: 30 * 24 * 60 },
] as const

/** First in the list: erasing a company's data locks this row, and so waits for a running rollup refresh. */
const summedSales = table<SalesRollup>('summed_sales', {
  columns: {
    company_id: 'bigint',
    changed_at: 'timestamptz',
    revision: 'bigint',
    span_minutes: 'integer',
    filled_to: 'timestamptz',
    is_filled: 'boolean',
    widened_to: 'timestamptz',
  },
  keys: { pk: ['company_id'] },
})

const salesSums = table<SalesRollupRow>('sales_sums', {
  columns: {
    company_id: 'bigint',
    kind: 'text',
    span: 'timestamptz',
    key: 'text',
    sales: 'bigint',
    cents: 'numeric',
    quantity: 'numeric',
    known_cents: 'numeric',
    cost_cents: 'numeric',
  },
  keys: { pk: ['company_id', 'kind', 'span', 'key'] },
})

/** SQL of the start of the span that contains an instant. */
export const spanOf = (instant: string, minutes: string): string =>
  `to_timestamp(floor(extract(epoch from ${instant}) / (60 * ${minutes})) * (60 * ${minutes}))`

/** Columns of `sold` that `sumsOf` reads, besides `span`. */
export const SOLD = 'status, total_cents, cost_cents, line_discounts, origin, seller_id, seller_name, doc'

/**
 * SQL of the sums (all columns except the company) over a subquery `sold`. Payments are without change, so that they
 * sum to the sales (PANEL-420). A line's share of the discount of its sale is deducted, so that items and
 * delivery fees do (SALE-30).
 */
export const rollUp = (sold: string): string => `
  with sold as materialized (${sold})
  select 'sale' as kind, span, '' as key, count(*) as sales, sum(total_cents) as cents,
    sum(${unitsOf('sold')}) as quantity,
    coalesce(sum(total_cents) filter (where cost_cents is not null), 0) as known_cents,
    coalesce(sum(cost_cents), 0) as cost_cents
  from sold where status = 'completed' group by span
  union all
  select 'cancelled', span, '', count(*), sum(total_cents), 0, 0, 0 from sold where status = 'cancelled' group by span
  union all
  select 'origin', span, origin, count(*), sum(total_cents), 0, 0, 0
  from sold where status = 'completed' group by span, origin
  union all
  select 'seller', span, ${sellerOf('sold')}, count(*), sum(total_cents), 0, 0, 0
  from sold where status = 'completed' group by span, ${sellerOf('sold')}
  union all
  select 'item', span, coalesce(line ->> 'catalog_item_id', ''), count(*),
    sum(${centsOf("line ->> 'total'")} - coalesce((line_discounts ->> (place - 1)::integer)::bigint, 0)),
    round(sum((line ->> 'quantity')::numeric * 1000)), 0, 0
  from sold cross join lateral json_array_elements(doc -> 'items') with ordinality as lines (line, place)
  where status = 'completed' group by span, coalesce(line ->> 'catalog_item_id', '')
  union all
  select case status when 'completed' then 'payment' else 'cancelled_payment' end, span, way, count(*), sum(w.cents), 0, 0, 0
  from sold cross join lateral ${waysOf('sold')} w
  group by 1, span, way`

/** SQL of a coarse rollup from a subquery with rows of the finer one. Leaves out spans that end after `endedBy`. */
export const coarsened = (
  { kind, minutes }: (typeof COARSE_ROLLUPS)[number],
  narrow: string,
  endedBy: string,
): string => `
  select '${kind}' as kind, ${spanOf('n.span', String(minutes))} as span, n.key, sum(n.sales)::bigint as sales, sum(n.cents) as cents,
    sum(n.quantity) as quantity, 0 as known_cents, 0 as cost_cents
  from (${narrow}) n
  where ${spanOf('n.span', String(minutes))} + make_interval(mins => ${minutes}) <= ${endedBy} group by 2, n.key`

const [DAYS, MONTHS] = COARSE_ROLLUPS

const FIGURES = ['sales', 'cents', 'quantity', 'known_cents', 'cost_cents'] as const

/**
 * Compares the rollup with sums computed from sales. Leaves out spans with sales changed since, and spans
 * not yet covered.
 */
const differences = (schema: string): string => `
  with at as (select * from ${schema}.summed_sales where company_id = $1),
  changed as (
    select distinct ${spanOf('s.sold_at', 'at.span_minutes')} as span
    from at join ${schema}.sales s on s.company_id = $1 and (s.changed_at, s.revision) > (at.changed_at, at.revision)
  ),
  narrow as (${rollUp(
    `select ${spanOf('s.sold_at', 'at.span_minutes')} as span, ${SOLD}
     from at join ${schema}.sales s on s.company_id = $1`,
  )}),
  days as (${coarsened(DAYS, `select * from narrow where kind = '${DAYS.of}'`, '(select widened_to from at)')}),
  months as (${coarsened(MONTHS, 'select * from days', '(select widened_to from at)')}),
  made as (select * from narrow union all select * from days union all select * from months),
  differing as (
    select kind, span, key, kept.sales is null as is_missing, made.sales is null as is_unknown,
      array_remove(array[${FIGURES.map((name) => `case when kept.${name} <> made.${name} then '${name}' end`).join(', ')}], null) as fields
    from (select * from ${schema}.sales_sums where company_id = $1) as kept
    full join made using (kind, span, key)
  )
  select 'sales_sums' as "table", json_build_object('kind', kind, 'span', span, 'key', key) as key,
    case when is_missing then 'missing' when is_unknown then 'unknown' else 'changed' end as found,
    case when is_missing or is_unknown then '{}' else fields end as fields
  from differing d
  where (is_missing or is_unknown or cardinality(fields) > 0)
    and not exists (select from changed c where c.span >= d.span and c.span < d.span + make_interval(mins =>
      case d.kind ${COARSE_ROLLUPS.map(({ kind, minutes }) => `when '${kind}' then ${minutes}`).join(' ')} else 1 end))
    and (not is_missing or exists (select from at where is_filled or d.span < filled_to))
  limit $2`

/** projections refreshes it in the background. No event writes it, so commands pay no cost. */
export const salesRollupsProjection = {
  name: 'sales_sums',
  tables: [summedSales, salesSums],
  on: {},
  grown: { differences } satisfies Rollup,
}

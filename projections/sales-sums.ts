import type { Grown } from '#ledger/projection.ts'
import { table } from '#ledger/table.ts'

/** How far the sums of a company's sales have come. Where there is no row, none was made yet. */
export interface SummedSales {
  company_id: number
  /** Time and revision of the last change of a sale that is in the sums. */
  changed_at: string
  revision: number
  /** Width of a span of sums: an hour, or a quarter of one where the company's days do not begin with an hour of UTC. */
  span_minutes: number
  /** Sums are made of sales before this at first, null for none yet; then of all (`is_filled`). */
  filled_to: string | null
  is_filled: boolean
  /** Begin of a day of UTC: wide sums are made of what was sold before, null for none yet. */
  widened_to: string | null
}

/** What the sales of a company add up to that were made in a span of time. */
export interface SalesSum {
  company_id: number
  kind: SumKind
  /** Its begin. */
  span: string
  /** Which of a kind: an item's or payment type's id, an origin, an actor; empty where it has no such thing. */
  key: string
  /** Sales; of items, lines of sales. */
  sales: number
  cents: number
  /** Lines; of items, thousandths. */
  quantity: number
  /** Part of `cents` that is of sales of which all costs are known, and these costs. */
  known_cents: number
  cost_cents: number
}

/** `sale`: completed ones; so are those that the kinds after `cancelled` are of. */
export const SUM_KINDS = ['sale', 'cancelled', 'origin', 'actor', 'item', 'payment'] as const
export type SumKind = (typeof SUM_KINDS)[number] | (typeof WIDE_SUMS)[number]['kind']

/**
 * Sums of items over wider spans, each made of the narrower ones: a shop sells each hour other items, but each month the same, so that
 * a year has a hundredth of the rows. Spans of UTC, whose time zone nobody changes, that are over.
 */
export const WIDE_SUMS = [
  { kind: 'item_day', of: 'item', minutes: 24 * 60 },
  { kind: 'item_month', of: 'item_day', minutes: 30 * 24 * 60 },
] as const

/** First, because whoever empties a company waits here for whoever adds to its sums. */
const summedSales = table<SummedSales>('summed_sales', {
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

const salesSums = table<SalesSum>('sales_sums', {
  columns: {
    company_id: 'bigint',
    kind: 'text',
    span: 'timestamptz',
    key: 'text',
    sales: 'bigint',
    cents: 'bigint',
    quantity: 'bigint',
    known_cents: 'bigint',
    cost_cents: 'bigint',
  },
  keys: { pk: ['company_id', 'kind', 'span', 'key'] },
})

const cents = (text: string): string => `replace(${text}, '.', '')::bigint`

/** SQL of the begin of the span of an instant. */
export const spanOf = (instant: string, minutes: string): string =>
  `to_timestamp(floor(extract(epoch from ${instant}) / (60 * ${minutes})) * (60 * ${minutes}))`

/** Columns of `sold`, which `sumsOf` adds up, beside the `span`. */
export const SOLD = 'status, total_cents, cost_cents, origin, actor, doc'

/**
 * SQL of the sums (all columns but the company) of sales that a subquery `sold` has. Change is taken off the largest payment
 * in cash, so that what was paid adds up to the sales. $1 is the company.
 */
export const sumsOf = (sold: string, schema = ''): string => `
  with sold as materialized (${sold})
  select 'sale' as kind, span, '' as key, count(*) as sales, sum(total_cents)::bigint as cents,
    sum(json_array_length(doc -> 'items'))::bigint as quantity,
    coalesce(sum(total_cents) filter (where cost_cents is not null), 0)::bigint as known_cents,
    coalesce(sum(cost_cents), 0)::bigint as cost_cents
  from sold where status = 'completed' group by span
  union all
  select 'cancelled', span, '', count(*), sum(total_cents)::bigint, 0, 0, 0 from sold where status = 'cancelled' group by span
  union all
  select 'origin', span, origin, count(*), sum(total_cents)::bigint, 0, 0, 0
  from sold where status = 'completed' group by span, origin
  union all
  select 'actor', span, coalesce(actor, ''), count(*), sum(total_cents)::bigint, 0, 0, 0
  from sold where status = 'completed' group by span, coalesce(actor, '')
  union all
  select 'item', span, coalesce(line ->> 'catalog_item_id', ''), count(*), sum(${cents("line ->> 'total'")})::bigint,
    sum((line ->> 'quantity')::numeric * 1000)::bigint, 0, 0
  from sold cross join lateral json_array_elements(doc -> 'items') as line
  where status = 'completed' group by span, coalesce(line ->> 'catalog_item_id', '')
  union all
  select 'payment', span, type, count(*), sum(paid)::bigint, 0, 0, 0
  from sold cross join lateral (
    select type, amount - case when row_number() over (order by is_cash desc, amount desc, place) = 1
      then ${cents("doc ->> 'change'")} else 0 end as paid
    from (
      select payment ->> 'payment_type_id' as type, ${cents("payment ->> 'amount'")} as amount, place,
        coalesce(t.doc ->> 'is_cash' = 'true', false) as is_cash
      from json_array_elements(doc -> 'payments') with ordinality as p (payment, place)
      left join ${schema}payment_types t on t.company_id = $1 and t.id = (payment ->> 'payment_type_id')::bigint
    ) as given
  ) as payments
  where status = 'completed' group by span, type`

/** SQL of the wide sums of a kind, made of rows of the narrower one that a subquery has; spans that end after an instant are left out. */
export const widened = ({ kind, minutes }: (typeof WIDE_SUMS)[number], narrow: string, endedBy: string): string => `
  select '${kind}' as kind, ${spanOf('n.span', String(minutes))} as span, n.key, sum(n.sales)::bigint as sales, sum(n.cents)::bigint as cents,
    sum(n.quantity)::bigint as quantity, 0::bigint as known_cents, 0::bigint as cost_cents
  from (${narrow}) n
  where ${spanOf('n.span', String(minutes))} + make_interval(mins => ${minutes}) <= ${endedBy} group by 2, n.key`

const [DAYS, MONTHS] = WIDE_SUMS

const FIGURES = ['sales', 'cents', 'quantity', 'known_cents', 'cost_cents'] as const

/**
 * What the sums of a company have of sales, and what these add up to (PANEL-122). Spans are left out of which a sale has
 * changed since, or that nobody has come to yet.
 */
const differences = (schema: string): string => `
  with at as (select * from ${schema}.summed_sales where company_id = $1),
  changed as (
    select distinct ${spanOf('s.sold_at', 'at.span_minutes')} as span
    from at join ${schema}.sales s on s.company_id = $1 and (s.changed_at, s.revision) > (at.changed_at, at.revision)
  ),
  narrow as (${sumsOf(
    `select ${spanOf('s.sold_at', 'at.span_minutes')} as span, ${SOLD}
     from at join ${schema}.sales s on s.company_id = $1`,
    `${schema}.`,
  )}),
  days as (${widened(DAYS, `select * from narrow where kind = '${DAYS.of}'`, '(select widened_to from at)')}),
  months as (${widened(MONTHS, 'select * from days', '(select widened_to from at)')}),
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
      case d.kind ${WIDE_SUMS.map(({ kind, minutes }) => `when '${kind}' then ${minutes}`).join(' ')} else 1 end))
    and (not is_missing or exists (select from at where is_filled or d.span < filled_to))
  limit $2`

/** Grown behind the sales, by src/sales-sums: no event writes them, so that none gets dearer. */
export const salesSumsProjection = {
  name: 'sales_sums',
  tables: [summedSales, salesSums],
  on: {},
  grown: { differences } satisfies Grown,
}

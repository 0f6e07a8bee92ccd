import type { PoolClient } from 'pg'
import { offsetMinutes } from '#domain/instant.ts'
import type { Rollup } from '#ledger/projection.ts'
import { table } from '#ledger/table.ts'
import { type InTurnOptions, workInTurn } from '#lib/background-loops.ts'
import type { Database } from '#postgres/database.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { centsSql, sellerKeySql, unitsSql, waysSql } from './cash-takings.ts'

/** Progress of a company's sales rollup. No row: not started. */
interface SalesRollup {
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
  /** Units (`unitsSql`); for items, quantity in thousandths. */
  quantity: string
  /** Part of `cents` with fully known costs, and these costs. */
  known_cents: string
  cost_cents: string
}

/** Kinds without `cancelled` in their name cover completed sales. */
const ROLLUP_KINDS = ['sale', 'cancelled', 'origin', 'seller', 'item', 'payment', 'cancelled_payment'] as const
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
const summedSales = table<SalesRollup>('rollup_states', {
  about: 'How far the rollups of sales of a company are up to date.',
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
  about: 'Rollups of sales by company, kind, span and key; amounts in cents.',
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
export const spanStartSql = (instant: string, minutes: string): string =>
  `to_timestamp(floor(extract(epoch from ${instant}) / (60 * ${minutes})) * (60 * ${minutes}))`

/** Columns of `sold` that `sumsOf` reads, besides `span`. */
export const SOLD = 'status, total_cents, cost_cents, line_discounts, origin, seller_id, seller_name, doc'

/**
 * SQL of the sums (all columns except the company) over a subquery `sold`. Payments are without change, so that they
 * sum to the sales. A line's share of the discount of its sale is deducted, so that items and
 * delivery fees do.
 */
export const rollUp = (sold: string): string => `
  with sold as materialized (${sold})
  select 'sale' as kind, span, '' as key, count(*) as sales, sum(total_cents) as cents,
    sum(${unitsSql('sold')}) as quantity,
    coalesce(sum(total_cents) filter (where cost_cents is not null), 0) as known_cents,
    coalesce(sum(cost_cents), 0) as cost_cents
  from sold where status = 'completed' group by span
  union all
  select 'cancelled', span, '', count(*), sum(total_cents), 0, 0, 0 from sold where status = 'cancelled' group by span
  union all
  select 'origin', span, origin, count(*), sum(total_cents), 0, 0, 0
  from sold where status = 'completed' group by span, origin
  union all
  select 'seller', span, ${sellerKeySql('sold')}, count(*), sum(total_cents), 0, 0, 0
  from sold where status = 'completed' group by span, ${sellerKeySql('sold')}
  union all
  select 'item', span, coalesce(line ->> 'catalog_item_id', ''), count(*),
    sum(${centsSql("line ->> 'total'")} - coalesce((line_discounts ->> (place - 1)::integer)::bigint, 0)),
    round(sum((line ->> 'quantity')::numeric * 1000)), 0, 0
  from sold cross join lateral json_array_elements(doc -> 'items') with ordinality as lines (line, place)
  where status = 'completed' group by span, coalesce(line ->> 'catalog_item_id', '')
  union all
  select case status when 'completed' then 'payment' else 'cancelled_payment' end, span, way, count(*), sum(w.cents), 0, 0, 0
  from sold cross join lateral ${waysSql('sold')} w
  group by 1, span, way`

/** SQL of a coarse rollup from a subquery with rows of the finer one. Leaves out spans that end after `endedBy`. */
const coarsened = ({ kind, minutes }: (typeof COARSE_ROLLUPS)[number], narrow: string, endedBy: string): string => `
  select '${kind}' as kind, ${spanStartSql('n.span', String(minutes))} as span, n.key, sum(n.sales)::bigint as sales, sum(n.cents) as cents,
    sum(n.quantity) as quantity, 0 as known_cents, 0 as cost_cents
  from (${narrow}) n
  where ${spanStartSql('n.span', String(minutes))} + make_interval(mins => ${minutes}) <= ${endedBy} group by 2, n.key`

const [DAYS, MONTHS] = COARSE_ROLLUPS

const FIGURES = ['sales', 'cents', 'quantity', 'known_cents', 'cost_cents'] as const

/**
 * Compares the rollup with sums computed from sales. Leaves out spans with sales changed since, and spans
 * not yet covered.
 */
const differences = (schema: string): string => `
  with at as (select * from ${schema}.rollup_states where company_id = $1),
  changed as (
    select distinct ${spanStartSql('s.sold_at', 'at.span_minutes')} as span
    from at join ${schema}.sales s on s.company_id = $1 and (s.changed_at, s.revision) > (at.changed_at, at.revision)
  ),
  narrow as (${rollUp(
    `select ${spanStartSql('s.sold_at', 'at.span_minutes')} as span, ${SOLD}
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

/** Changed sales per transaction. */
const PORTION = 2_000
/** Attempts of a transaction on serialization failures. */
const ATTEMPTS = 5
const SERIALIZATION_FAILURE = '40001'

type RollupPosition = Omit<SalesRollup, 'company_id'>

/**
 * Refreshes a company's sales rollup until it covers its tables, or until `isEnough`; returns whether it covers them.
 * Runs on the primary only. Each portion is a transaction with one snapshot that rebuilds whole spans, so no sale is
 * counted twice, whatever its changes and its time.
 */
export async function refreshSalesRollups(
  pool: Database,
  companyId: number,
  isEnough: () => boolean = () => false,
): Promise<boolean> {
  for (;;) {
    if ((await refreshPortion(pool, companyId)) === 'done') return true
    if (isEnough()) return false
  }
}

/** One transaction, repeated if another process wrote the same rows. */
async function refreshPortion(pool: Database, companyId: number): Promise<'more' | 'done'> {
  for (let failures = 0; ; ) {
    try {
      return await inTransaction(pool, (_, client) => refreshInTransaction(client, companyId), BEGIN)
    } catch (error) {
      if ((error as { code?: unknown }).code !== SERIALIZATION_FAILURE || ++failures === ATTEMPTS) throw error
    }
  }
}

/**
 * Refreshes the rollups of all companies, one portion per company in turn, so that a large company does not delay the
 * others.
 */
export async function refreshAllSalesRollups(pool: Database, options: InTurnOptions): Promise<void> {
  const { rows } = await pool.query<{ company_id: number }>({
    name: 'companies_to_sum',
    text: `select l.company_id from ledgers l left join rollup_states a on a.company_id = l.company_id
           where coalesce((
             select a.is_filled is not true or (s.changed_at, s.revision) > (a.changed_at, a.revision)
             from sales s where s.company_id = l.company_id order by s.changed_at desc, s.revision desc limit 1), false)
           order by l.company_id`,
  })
  const companyIds = rows.map(({ company_id }) => company_id)
  await workInTurn(companyIds, (companyId) => refreshPortion(pool, companyId), options)
}

/** The planner cannot estimate the size of arrays, and would scan all sales: spans contain few of them. */
const BEGIN = `begin isolation level repeatable read;
  set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off`

async function refreshInTransaction(client: PoolClient, companyId: number): Promise<'more' | 'done'> {
  const { rows } = await client.query<
    { [M in keyof RollupPosition]: RollupPosition[M] | null } & { timezone: string; went_back: boolean; now: string }
  >({
    name: 'lock_rollup_states',
    text: `select c.timezone, transaction_timestamp() as now, exists (
             select from json_array_elements(c.clock_corrections) as k where (k ->> 'revision')::bigint > s.revision) as went_back, s.changed_at, s.revision, s.span_minutes, s.filled_to, s.is_filled, s.widened_to
           from companies c left join lateral (
             select * from rollup_states where company_id = c.company_id for update) s on true
           where c.company_id = $1`,
    values: [companyId],
  })
  const [row] = rows
  if (!row) return 'done'
  const span_minutes = widthOf(row.timezone, row.now)
  // After a correction of the clock, changes cannot be found by their times.
  if (row.revision === null || row.span_minutes !== span_minutes || row.went_back) {
    await restartRollups(client, companyId, span_minutes)
    return 'more'
  }
  const at = row as RollupPosition
  if (!at.is_filled) return fillPastSpans(client, companyId, at)
  const taken = await refreshChangedSpans(client, companyId, at)
  return (await refreshCoarseRollups(client, companyId, at.widened_to, row.now)) ? taken : 'more'
}

/** Width of spans in minutes. Days of a time zone must begin with a span: UTC offsets are multiples of 15 minutes. */
function widthOf(timezone: string, now: string): number {
  const year = now.slice(0, 4)
  const isHourly = ['01', '07'].every(
    (month) => offsetMinutes(Date.parse(`${year}-${month}-01T00:00:00.000Z`), timezone) % 60 === 0,
  )
  return isHourly ? 60 : 15
}

/** Changes recorded from now on are found by the next refreshes. */
async function restartRollups(client: PoolClient, companyId: number, spanMinutes: number): Promise<void> {
  await client.query('delete from sales_sums where company_id = $1', [companyId])
  await client.query(
    `insert into rollup_states (company_id, changed_at, revision, span_minutes, filled_to, is_filled, widened_to)
     select company_id, coalesce(last_recorded_at, to_timestamp(0)), revision, $2, null, false, null from ledgers where company_id = $1
     on conflict (company_id) do update set changed_at = excluded.changed_at, revision = excluded.revision,
       span_minutes = excluded.span_minutes, filled_to = null, is_filled = false, widened_to = null`,
    [companyId, spanMinutes],
  )
}

/** Fills the next spans in order of sale time. */
async function fillPastSpans(
  client: PoolClient,
  companyId: number,
  { filled_to, span_minutes }: RollupPosition,
): Promise<'more'> {
  const { rows } = await client.query<{ first: string | null; next: string | null }>({
    name: 'next_sales_to_sum',
    text: `select first.sold_at as first, ${spanStartSql('last.sold_at', '$3::integer')} + make_interval(mins => $3::integer) as next
           from (select sold_at from sales where company_id = $1 and sold_at >= coalesce($2::timestamptz, '-infinity')
                 order by sold_at limit 1) first
           left join (select sold_at from sales where company_id = $1 and sold_at >= coalesce($2::timestamptz, '-infinity')
                 order by sold_at offset ${PORTION} limit 1) last on true`,
    values: [companyId, filled_to, span_minutes],
  })
  const { first, next } = rows[0] ?? { first: null, next: null }
  if (first) await rebuildSpans(client, companyId, { span_minutes, from: [filled_to ?? first], to: next })
  await client.query({
    name: 'note_filled_sums',
    text: 'update rollup_states set filled_to = $2, is_filled = $2::timestamptz is null where company_id = $1',
    values: [companyId, next],
  })
  return 'more'
}

/** Rebuilds the spans of sales that changed since the last refresh, in ledger order. */
async function refreshChangedSpans(
  client: PoolClient,
  companyId: number,
  at: RollupPosition,
): Promise<'more' | 'done'> {
  const { rows } = await client.query<
    Pick<RollupPosition, 'changed_at' | 'revision'> & { spans: string[]; count: number }
  >({
    name: 'changed_sales_to_sum',
    text: `with changed as (
             select sold_at, changed_at, revision from sales
             where company_id = $1 and (changed_at, revision) > ($2::timestamptz, $3::bigint)
             order by changed_at, revision limit ${PORTION})
           select count(*) as count, max(changed_at) as changed_at, max(revision) as revision,
             array_agg(distinct ${spanStartSql('sold_at', '$4::integer')}) as spans
           from changed`,
    values: [companyId, at.changed_at, at.revision, at.span_minutes],
  })
  const changed = rows[0]
  if (!changed || changed.count === 0) return 'done'
  await rebuildSpans(client, companyId, { span_minutes: at.span_minutes, from: changed.spans })
  if (at.widened_to) await rebuildCoarseSpans(client, companyId, { spans: changed.spans, endedBy: at.widened_to })
  await client.query({
    name: 'note_rollup_states',
    text: 'update rollup_states set changed_at = $2, revision = $3 where company_id = $1',
    values: [companyId, changed.changed_at, changed.revision],
  })
  return changed.count < PORTION ? 'done' : 'more'
}

/** Days that one transaction adds to the coarse rollups. */
const WIDENED_DAYS = 30
const DAY_MS = 86_400_000

/** Adds days that have ended to the coarse rollups. Returns whether none is left. */
async function refreshCoarseRollups(
  client: PoolClient,
  companyId: number,
  done: string | null,
  now: string,
): Promise<boolean> {
  const today = dayOf(now)
  if (done !== null && Date.parse(done) >= today) return true
  const { rows } = await client.query<{ span: string | null }>({
    name: 'next_sums_to_widen',
    text: `select min(span) as span from sales_sums where company_id = $1 and kind = 'item' and span >= coalesce($2::timestamptz, '-infinity')`,
    values: [companyId, done],
  })
  const next = rows[0]?.span ?? null
  const first = next === null ? today : Math.min(today, dayOf(next))
  const end = Math.min(today, first + WIDENED_DAYS * DAY_MS)
  // The month in which the last portion ended may have ended since.
  const spans = done === null ? [] : [new Date(Date.parse(done) - DAY_MS).toISOString()]
  for (let day = first; day < end; day += DAY_MS) spans.push(new Date(day).toISOString())
  const endedBy = new Date(end).toISOString()
  await rebuildCoarseSpans(client, companyId, { spans, endedBy })
  await client.query({
    name: 'note_widened_sums',
    text: 'update rollup_states set widened_to = $2 where company_id = $1',
    values: [companyId, endedBy],
  })
  return end === today
}

/** Start of the UTC day. */
const dayOf = (instant: string): number => Math.floor(Date.parse(instant) / DAY_MS) * DAY_MS

/** Starts of fine spans, and the end of the sales that coarse rollups cover. */
interface CoarseSpans {
  readonly spans: readonly string[]
  readonly endedBy: string
}

/** Rebuilds the coarse spans that contain these spans, as far as they have ended. */
async function rebuildCoarseSpans(
  client: PoolClient,
  companyId: number,
  { spans, endedBy }: CoarseSpans,
): Promise<void> {
  for (const wide of COARSE_ROLLUPS) {
    const { kind, of, minutes } = wide
    const given = `(select distinct ${spanStartSql('s', String(minutes))} as span from unnest($2::timestamptz[]) as s)`
    await client.query({
      name: `drop_${kind}_sums`,
      text: `delete from sales_sums t using ${given} as g where t.company_id = $1 and t.kind = '${kind}' and t.span = g.span`,
      values: [companyId, spans],
    })
    const narrow = `select t.* from ${given} as g join sales_sums t on t.company_id = $1 and t.kind = '${of}'
      and t.span >= g.span and t.span < g.span + make_interval(mins => ${minutes})`
    await client.query({
      name: `make_${kind}_sums`,
      text: `insert into sales_sums (company_id, kind, span, key, sales, cents, quantity, known_cents, cost_cents)
             select $1, * from (${coarsened(wide, narrow, '$3::timestamptz')}) as made`,
      values: [companyId, spans, endedBy],
    })
  }
}

interface Spans {
  readonly span_minutes: number
  readonly from: readonly string[]
  /** End of the only range, null for an open end; absent: each of `from` is one span. */
  readonly to?: string | null
}

async function rebuildSpans(client: PoolClient, companyId: number, { span_minutes, from, to }: Spans): Promise<void> {
  const values = [companyId, from, to ?? null, to === undefined]
  // Postgres adds the width: it knows years beyond those that JavaScript prints as it reads them.
  const ranges = (minutes: string) => `(
    select ${spanStartSql('f', minutes)} as lower,
      case when $4 then ${spanStartSql('f', minutes)} + make_interval(mins => ${minutes}) else coalesce($3::timestamptz, 'infinity') end as upper
    from unnest($2::timestamptz[]) as f)`
  await client.query({
    name: 'drop_sales_sums',
    text: `delete from sales_sums t using ${ranges('$6::integer')} as s, unnest($5::text[]) as k (kind)
           where t.company_id = $1 and t.kind = k.kind and t.span >= s.lower and t.span < s.upper`,
    values: [...values, ROLLUP_KINDS, span_minutes],
  })
  await client.query({
    name: 'make_sales_sums',
    text: `insert into sales_sums (company_id, kind, span, key, sales, cents, quantity, known_cents, cost_cents)
           select $1, kind, span, key, sales, cents, quantity, known_cents, cost_cents from (${rollUp(
             `select ${spanStartSql('t.sold_at', '$5::integer')} as span, ${SOLD}
              from ${ranges('$5::integer')} as s
              join sales t on t.company_id = $1 and t.sold_at >= s.lower and t.sold_at < s.upper`,
           )}) as made`,
    values: [...values, span_minutes],
  })
}

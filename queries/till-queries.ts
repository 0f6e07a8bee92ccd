import { addDays, startOfDay } from '#domain/instant.ts'
import type { CashSessionObject } from '#projections/cash-sessions.ts'
import { moneyBackSql, statedRefunds, waysSql } from '#projections/cash-takings.ts'
import { IS_CANCELLED } from '#projections/sales.ts'
import { gapsIn, lastSettled, type NumberRange, type RefusedMovementRow } from '#projections/tills.ts'
import { moneySum, type Sum } from './list-statement.ts'
import type { Reader } from './reader.ts'
import {
  reconcileSales,
  returnsIn,
  type SalesReconciliation,
  type SumsOfKind,
  WAY_NAMES,
  type WayName,
} from './sales-sums.ts'
import { t } from './table-names.ts'

/** A till of the company. */
export interface CompanyTill {
  readonly id: number
  readonly number: number
  readonly name: string
  /** UTC; null if it has not called yet. */
  readonly last_seen_at: string | null
  /** The last that it has recorded, as far as is known; 0 if none. */
  readonly last_number: number
  /** Numbers up to it that have not come and were not given up. */
  readonly missing: readonly NumberRange[]
  readonly ended_at: string | null
}

interface FoundTill {
  readonly id: number
  readonly doc: { readonly number: number; readonly name: string; readonly settled: readonly NumberRange[] }
  readonly ended_at: string | null
  readonly last_seen_at: string | null
  readonly last_number: number | null
}

/** Tills shown at once; at most 50 are not ended. */
const MOST = 1_000

/** Tills of a company by number, those that are not ended first. */
export async function listTills(reader: Reader): Promise<CompanyTill[]> {
  const { rows } = await reader.query<FoundTill>({
    name: 'list_tills',
    text: `select t.id, t.doc, t.ended_at, c.last_seen_at, c.last_number
           from ${t.tills} t left join ${t.till_contacts} c on c.company_id = t.company_id and c.till_id = t.id
           where t.company_id = $1 order by t.ended_at is not null, t.id limit ${MOST}`,
  })
  return rows.map(({ id, doc, ended_at, last_seen_at, last_number }) => {
    const last = Math.max(last_number ?? 0, lastSettled(doc))
    const { number, name } = doc
    return { id, number, name, last_seen_at, last_number: last, missing: gapsIn(doc.settled, last), ended_at }
  })
}

/** A movement of a till that a person has to decide about, or has. */
export type RefusedMovement = Pick<
  RefusedMovementRow,
  'offline_id' | 'revision' | 'state' | 'uploaded_at' | 'payload' | 'note'
> & {
  /** Who uploaded it. */
  readonly user_name: string | null
  /** Who opened the session, or moved it first. */
  readonly owner_name: string | null
}

const SELECT = `select t.offline_id, t.revision, t.state, t.uploaded_at, t.payload, t.note, u.doc ->> 'name' as user_name,
    o.doc ->> 'name' as owner_name
  from ${t.refused_movements} t
  left join ${t.users} u on u.company_id = t.company_id and u.id = t.user_id
  left join ${t.cash_sessions} s on s.company_id = t.company_id and s.session_id = t.payload ->> 'session_id'
  left join ${t.users} o on o.company_id = t.company_id and o.id = s.owner
  where t.company_id = $1`

/** Oldest first, up to `limit`. */
export async function listRefusedMovements(reader: Reader, limit: number): Promise<RefusedMovement[]> {
  const { rows } = await reader.query<RefusedMovement>({
    name: 'refused_movements',
    text: `${SELECT} and t.state = 'refused' order by t.revision limit $2`,
    values: [limit],
  })
  return rows
}

/** Number of those that a person has to decide about. */
export async function countOpenMovements(reader: Reader): Promise<number> {
  const { rows } = await reader.query<{ total: number }>({
    name: 'count_refused_movements',
    text: `select count(*)::integer as total from ${t.refused_movements} where company_id = $1 and state = 'refused'`,
  })
  return rows[0]?.total ?? 0
}

/** `revision`: of the refusal. */
export async function getRefusedMovement(reader: Reader, revision: number): Promise<RefusedMovement | null> {
  const { rows } = await reader.query<RefusedMovement>({
    name: 'refused_movement',
    text: `${SELECT} and t.revision = $2`,
    values: [revision],
  })
  return rows[0] ?? null
}

/** A day of the company's calendar. */
interface Day {
  readonly day: string
  readonly timezone: string
}

/**
 * Sales of a till on a day, less what came back of them anywhere; a till is identified by its logged-in user. Its cash is
 * what it took and gave back itself.
 */
export interface TillDay extends SalesReconciliation {
  /** `user/3` */
  readonly actor: string | null
  readonly cash_in: string
  /** Of returns at the till, and of sales of other days too that were cancelled on this day. */
  readonly cash_back: string
  /** `cash_in` minus `cash_back` of what belongs to none of the cash sessions; may be negative. */
  readonly cash: string
  /** Whether any of it moved outside of them. */
  readonly has_cash: boolean
  /** Opened by its user, or else closed. */
  readonly sessions: readonly CashSessionObject[]
}

/** The sales and cash sessions of a day: those of each till, and all of the company. */
export interface TillsDay {
  readonly tills: readonly TillDay[]
  /** Without tills: API and online stores. */
  readonly others: SalesReconciliation
  readonly all: SalesReconciliation
  /** Payments of accounts in cash on the day, at any till; reversed ones do not count. */
  readonly settled_in_cash: Sum
  /** True if there were more sales than the bound; then there are no figures. */
  readonly isPartial: boolean
}

/** Bound of summed sales of a day. */
export const MAX_TILLS_OF_DAY = 20_000

/** Reads only the payments of most sales: parsing JSON dominates the time. */
const NEEDED = `t.id, t.status, t.total_cents, t.cash_session_id, t.cancel_session_id, t.doc->'payments' as payments,
      case when t.${IS_CANCELLED} then (t.doc->>'cancelled_at')::timestamptz end as cancelled_at,
      case when t.${IS_CANCELLED} then ${statedRefunds('t')} end as refunds,
      t.${IS_CANCELLED} and t.doc->>'cancelled_at' = t.doc->>'created_at' as is_nothing`

const GIVEN_BACK = moneyBackSql('k', { company: '$1', payments: 'k.payments', refunds: 'k.refunds' })

const RETURNS = returnsIn('$2::timestamptz', '$3::timestamptz', ', t.id as sale_id, r.return_id, r.till')

/** SQL condition: the money is of none of the sessions. */
const IS_OUTSIDE = '(session_id is null or session_id <> all($6::text[]))'

/**
 * $1 company, $2 and $3 start and end of the day, $4 the bound, $5 the day, $6 its cash sessions. Sales of the day come from their index,
 * those cancelled on the day from the few cancelled ones. A sale uploaded as cancelled never took money; a cancellation
 * gives cash back as it says, else as the sale was paid.
 */
const DAY = `
  with sold as materialized (
    select ${NEEDED}, true as is_of_day from ${t.sales} t
    where t.company_id = $1 and t.sold_at >= $2::timestamptz and t.sold_at < $3::timestamptz
    limit $4::bigint + 1),
  others as materialized (
    select ${NEEDED}, false as is_of_day from ${t.sales} t
    where t.company_id = $1 and t.${IS_CANCELLED} and t.changed_at >= $2::timestamptz
      and not (t.sold_at >= $2::timestamptz and t.sold_at < $3::timestamptz)
    limit $4::bigint + 1),
  known as materialized (
    select s.*, o.actor, o.sale_id is not null as is_till,
      s.cancelled_at >= $2::timestamptz and s.cancelled_at < $3::timestamptz and not s.is_nothing as is_undone
    from (select * from sold union all select * from others) s
    left join ${t.offline_sales} o on o.company_id = $1 and o.sale_id = s.id),
  taken as materialized (
    select k.*, w.way, w.cents, coalesce(y.doc ->> 'is_cash' = 'true', false) as is_cash
    from known k cross join lateral ${waysSql('k', 'k.payments')} w
    left join ${t.payment_types} y on y.company_id = $1 and y.id = nullif(w.way, '')::bigint
    where k.is_of_day),
  given_back as materialized (
    select k.actor, b.cents, k.cancel_session_id as session_id
    from known k cross join lateral ${GIVEN_BACK} b
    join ${t.payment_types} y on y.company_id = $1 and y.id = nullif(b.way, '')::bigint and y.doc ->> 'is_cash' = 'true'
    where k.is_undone and k.is_till),
  returned as materialized (
    select r.*, o.actor, o.sale_id is not null as is_till, b.cash_session_id as session_id,
      coalesce(y.doc ->> 'is_cash' = 'true', false) as is_cash
    from (${RETURNS}) r
    left join ${t.offline_sales} o on o.company_id = $1 and o.sale_id = r.sale_id
    left join ${t.returns} b on b.company_id = $1 and b.id = r.return_id
    left join ${t.payment_types} y on y.company_id = $1 and y.id = nullif(r.way, '')::bigint),
  figures as (
    select is_till, actor, status as kind, null::text as way, count(*) as count, sum(total_cents)::text as cents
    from known where is_of_day group by is_till, actor, status
    union all
    select is_till, actor, status, way, count(*), sum(cents)::text from taken group by is_till, actor, status, way
    union all
    select is_till, actor, 'returned', way, sum(count), sum(cents)::text from returned group by is_till, actor, way),
  moved as (
    select actor, cents as cents_in, 0 as cents_back, cash_session_id as session_id
    from taken where is_cash and is_till and not is_nothing
    union all
    select actor, 0, cents, session_id from given_back
    union all
    select till, 0, cents, session_id from returned where is_cash and till is not null),
  cash as (
    select actor, ${moneySum('sum(cents_in)')} as cash_in, ${moneySum('sum(cents_back)')} as cash_back,
      ${moneySum(`sum(cents_in - cents_back) filter (where ${IS_OUTSIDE})`)} as cash, bool_or(${IS_OUTSIDE}) as has_cash
    from moved group by actor)
  select (select count(*) from sold) > $4::bigint or (select count(*) from others) > $4::bigint as "isPartial",
    (select coalesce(json_agg(f), '[]') from figures f) as figures,
    (select coalesce(json_agg(c), '[]') from cash c) as cash,
    ${WAY_NAMES} as types,
    (select json_build_object('count', coalesce(sum(case when p.reverses is null then 1 else -1 end), 0)::integer,
       'amount', ${moneySum('sum(p.received_cents)')}) from ${t.receivable_payments} p
     where p.company_id = $1 and p.paid_on = $5::date and p.payment_method = 'cash' and p.kind = 'payment') as settled_in_cash`

type Cash = Pick<TillDay, 'actor' | 'cash_in' | 'cash_back' | 'cash' | 'has_cash'>

interface DayRow extends Pick<TillsDay, 'isPartial' | 'settled_in_cash'> {
  readonly figures: readonly (SumsOfKind & { readonly is_till: boolean; readonly actor: string | null })[]
  readonly cash: readonly Cash[]
  readonly types: readonly WayName[]
}

const NO_CASH = { cash_in: '0.00', cash_back: '0.00', cash: '0.00', has_cash: false }

/** Till of a session: the user who opened it, or else closed it. */
const tillOf = ({ opened_by_user_id, closed_by_user_id }: CashSessionObject): string | null => {
  const user = opened_by_user_id ?? closed_by_user_id
  return user === null ? null : `user/${user}`
}

/** Sales of each till on a day by payment type, with the given cash sessions, and the expected cash beside them. */
export async function tillsOfDay(
  reader: Reader,
  { day, timezone, sessions }: Day & { readonly sessions: readonly CashSessionObject[] },
): Promise<TillsDay> {
  const bounds = [startOfDay(day, timezone), startOfDay(addDays(day, 1), timezone)]
  const values = [...bounds, MAX_TILLS_OF_DAY, day, sessions.map(({ session_id }) => session_id)]
  const { rows } = await reader.query<DayRow>({ name: 'tills_of_day', text: DAY, values })
  const { isPartial, settled_in_cash, figures, cash, types } = rows[0] as DayRow
  const ofTills = figures.filter(({ is_till }) => is_till)
  const cashOf = new Map(cash.map((each) => [each.actor, each] as const))
  const actors = [...new Set([...[...ofTills, ...cash].map(({ actor }) => actor), ...sessions.map(tillOf)])].sort()
  return {
    isPartial,
    settled_in_cash,
    tills: actors.map((actor) => ({
      ...NO_CASH,
      ...reconcileSales(
        ofTills.filter((figure) => figure.actor === actor),
        types,
      ),
      ...cashOf.get(actor),
      actor,
      sessions: sessions.filter((session) => tillOf(session) === actor),
    })),
    others: reconcileSales(
      figures.filter(({ is_till }) => !is_till),
      types,
    ),
    all: reconcileSales(figures, types),
  }
}

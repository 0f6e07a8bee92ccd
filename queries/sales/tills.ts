import type { Pool } from 'pg'
import { addDays, startOfDay } from '#domain/instant.ts'
import { IS_CANCELLED } from '#projections/sales.ts'
import { moneySum, type Sum, sumColumn } from '../sums.ts'

/** A day of the company's calendar. */
interface Day {
  readonly day: string
  readonly timezone: string
}

/** Amount charged by one payment type, without change. */
export interface PaymentWay extends Sum {
  readonly name: string
  readonly is_cash: boolean
}

/** Sales of a till on a day; a till is identified by its logged-in user. */
export interface TillDay {
  /** `user/3` */
  readonly actor: string | null
  /** Without sales that are cancelled now. */
  readonly sold: Sum
  /** Sales of the day that are cancelled now. */
  readonly cancelled: Sum
  /** Of all sales of the day, including those cancelled since, by name. */
  readonly ways: readonly PaymentWay[]
  readonly cash_in: string
  /** Of sales of any day that were cancelled on this day. */
  readonly cash_back: string
  /** `cash_in` minus `cash_back`; may be negative. */
  readonly cash: string
}

export interface TillsDay {
  readonly tills: readonly TillDay[]
  /** Accounts settled in cash on the day, at any till. */
  readonly settled_in_cash: Sum
  /** True if there were more sales than the bound; then there are no figures. */
  readonly isPartial: boolean
}

/** Bound of summed sales of a day. */
export const MAX_TILLS_OF_DAY = 20_000

/** Reads only the payments of most sales: parsing JSON dominates the time. */
const NEEDED = `t.id, t.status, t.total_cents, t.doc->'payments' as payments,
      case when t.${IS_CANCELLED} then (t.doc->>'cancelled_at')::timestamptz end as cancelled_at,
      t.${IS_CANCELLED} and t.doc->>'cancelled_at' = t.doc->>'created_at' as is_nothing`

/**
 * $1 company, $2 and $3 start and end of the day, $4 the bound, $5 the day. Sales of the day come from their index,
 * those cancelled on the day from the few cancelled ones. A sale uploaded as cancelled never took money.
 */
const DAY = `
  with sold as materialized (
    select ${NEEDED}, true as is_of_day from sales t
    where t.company_id = $1 and t.sold_at >= $2::timestamptz and t.sold_at < $3::timestamptz
    limit $4::bigint + 1),
  earlier as materialized (
    select ${NEEDED}, false as is_of_day from sales t
    where t.company_id = $1 and t.${IS_CANCELLED} and t.changed_at >= $2::timestamptz and t.sold_at < $2::timestamptz
    limit $4::bigint + 1),
  known as materialized (
    select s.*, o.actor, s.cancelled_at >= $2::timestamptz and s.cancelled_at < $3::timestamptz as is_undone
    from (select * from sold union all select * from earlier) s
    join offline_sales o on o.company_id = $1 and o.sale_id = s.id),
  types as materialized (
    select t.id, (t.doc->>'is_cash')::boolean as is_cash from payment_types t where t.company_id = $1),
  taken as materialized (
    select k.actor, k.id, k.is_of_day, coalesce(k.is_undone, false) as is_undone, p.name,
      ((p.net + p.surcharge) * 100)::bigint as cents, coalesce(y.is_cash, false) as is_cash
    from known k
    cross join json_to_recordset(k.payments) p (payment_type_id bigint, name text, surcharge numeric, net numeric)
    left join types y on y.id = p.payment_type_id
    where not k.is_nothing),
  ways as (
    select actor, json_agg(json_build_object('name', name, 'is_cash', is_cash, 'count', count, 'amount', amount)
      order by is_cash desc, name) as list
    from (select actor, name, is_cash, count(distinct id) as count, ${moneySum('sum(cents)')} as amount
          from taken where is_of_day group by actor, name, is_cash) w
    group by actor),
  cash as (
    select actor, coalesce(sum(cents) filter (where is_of_day), 0) as came, coalesce(sum(cents) filter (where is_undone), 0) as went
    from taken where is_cash group by actor),
  tills as (
    select actor, ${sumColumn('total_cents', `is_of_day and status = 'completed'`)} as sold,
      ${sumColumn('total_cents', `is_of_day and status = 'cancelled'`)} as cancelled
    from known where is_of_day or is_undone group by actor)
  select (select count(*) from sold) > $4::bigint or (select count(*) from earlier) > $4::bigint as "isPartial",
    (select coalesce(json_agg(json_build_object('actor', t.actor, 'sold', t.sold, 'cancelled', t.cancelled,
        'ways', coalesce(w.list, '[]'), 'cash_in', ${moneySum('c.came')}, 'cash_back', ${moneySum('c.went')},
        'cash', ${moneySum('c.came - c.went')}) order by t.actor), '[]')
     from tills t left join ways w on w.actor is not distinct from t.actor
     left join cash c on c.actor is not distinct from t.actor) as tills,
    (select ${sumColumn('r.amount_cents', `r.doc->>'payment_method' = 'cash'`)} from receivables r
     where r.company_id = $1 and r.settled_on = $5::date and r.settled_on is not null and r.deleted_at is null) as settled_in_cash`

/** Sales of each till on a day by payment type, and the expected cash. */
export async function tillsOfDay(pool: Pool, companyId: number, { day, timezone }: Day): Promise<TillsDay> {
  const bounds = [startOfDay(day, timezone), startOfDay(addDays(day, 1), timezone)]
  const values = [companyId, ...bounds, MAX_TILLS_OF_DAY, day]
  const { rows } = await pool.query<TillsDay>({ name: 'tills_of_day', text: DAY, values })
  return rows[0] as TillsDay
}

import { addAmounts, subtractAmounts, toBigCents } from '#domain/money.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { Lookup } from '#ledger/command.ts'
import { markTable, plainSql } from '#postgres/table-marks.ts'
import { centsSql, moneyBackSql, statedRefunds, waysSql } from './payment-proofs.ts'

/** What sales and returns brought, by payment type. */
export type CashTakings = DataOf<'CashSessionClosed'>['takings']

const [TYPES, SALES, RETURNS] = [markTable('payment_types'), markTable('sales'), markTable('returns')]

const amount = (cents: string): string => `(coalesce(${cents}, 0) * 0.01)::text`

const GIVEN_BACK = moneyBackSql('s', {
  company: 's.company_id',
  payments: `s.doc -> 'payments'`,
  refunds: `(${statedRefunds('s')})`,
})

/** SQL of the refunds `p` of a session's returns that are not recorded: their money has left the drawer. */
const UNRECORDED = `${markTable('offline_returns')} a
  cross join lateral json_to_recordset(a.payload -> 'refunds') p (payment_type_id bigint, amount text)
  where a.company_id = t.company_id and a.cash_session_id = t.session_id and a.state <> 'recorded'`

/**
 * SQL of what sales and returns of a session `t` (company_id, session_id) brought, as JSON of `CashTakings`. A sale that
 * its own session gave back counts as none, but for money that went back in another way than it came; one that another
 * session gave back counts in both.
 */
export const TAKINGS = `json_build_object(
  'drawer', (select min(y.id) from ${TYPES} y where y.company_id = t.company_id and y.doc ->> 'is_cash' = 'true'),
  'sales', (select count(*) from ${SALES} s where s.company_id = t.company_id and s.cash_session_id = t.session_id
    and s.cancel_session_id is distinct from t.session_id),
  'ways', (select coalesce(json_agg(json_build_object(
      'payment_type_id', m.way, 'is_cash', m.is_cash,
      'sold', ${amount('m.sold')}, 'cancelled', ${amount('m.cancelled')}, 'returned', ${amount('m.returned')})
      order by m.way), '[]')
    from (
      select w.way::bigint as way, coalesce(bool_or(y.doc ->> 'is_cash' = 'true'), false) as is_cash,
        sum(w.cents) filter (where w.kind = 'sold') as sold,
        sum(w.cents) filter (where w.kind = 'cancelled') as cancelled,
        sum(w.cents) filter (where w.kind = 'returned') as returned
      from (
        select 'sold' as kind, p.way, p.cents from ${SALES} s cross join lateral ${waysSql('s')} p
        where s.company_id = t.company_id and s.cash_session_id = t.session_id
          and s.cancel_session_id is distinct from t.session_id
        union all
        select 'cancelled', p.way, p.cents from ${SALES} s cross join lateral ${GIVEN_BACK} p
        where s.company_id = t.company_id and s.cancel_session_id = t.session_id
          and s.cash_session_id is distinct from t.session_id
        union all
        select case when p.cents > 0 then 'sold' else 'cancelled' end, p.way, abs(p.cents)
        from ${SALES} s cross join lateral (
          select g.way, sum(g.cents) as cents
          from (
            select b.way, b.cents from ${waysSql('s')} b
            union all
            select b.way, -b.cents from ${GIVEN_BACK} b) g
          group by g.way
          having sum(g.cents) <> 0) p
        where s.company_id = t.company_id and s.cash_session_id = t.session_id and s.cancel_session_id = t.session_id
          and s.doc ->> 'cancel_refunds' is not null
        union all
        select 'returned', p.payment_type_id::text, ${centsSql('p.amount')}
        from ${RETURNS} r cross join lateral json_to_recordset(r.doc -> 'refunds') p (payment_type_id bigint, amount text)
        where r.company_id = t.company_id and r.cash_session_id = t.session_id and not r.is_in_drawer
        union all
        select 'returned', p.payment_type_id::text, ${centsSql('p.amount')}
        from ${UNRECORDED}
      ) w
      left join ${TYPES} y on y.company_id = t.company_id and y.id = nullif(w.way, '')::bigint
      where w.way <> ''
      group by w.way
    ) m))`

/**
 * What the sales of a session have brought, for the command that closes it; another one gave the money of `moved` back.
 * Its result has `takings`.
 */
export const takingsLookup = (sessionId: string, moved: readonly { readonly sale_id: number }[]): Lookup => ({
  name: 'takings_of_cash_session',
  text: plainSql(`select ${TAKINGS.replaceAll('s.cancel_session_id', '(case when s.id = any($3::bigint[]) then null else s.cancel_session_id end)')} as takings
    from (select $1::bigint as company_id, $2::text as session_id) t`),
  values: [sessionId, moved.map(({ sale_id }) => sale_id)],
})

/** Cash that the movements of a session brought and took, and what was counted at its closing. */
export interface SessionCash {
  readonly opening: string
  readonly received: string
  readonly in: string
  readonly out: string
  readonly counted: DataOf<'CashSessionClosed'>['counted']
}

/** Money of a session in one payment type. All types in cash are one drawer. */
export interface CashWay {
  /** Of the drawer the company's first type in cash; null if it has none. */
  readonly payment_type_id: number | null
  readonly is_cash: boolean
  readonly expected: string
  /** Null if it was not counted. */
  readonly counted: string | null
  /** Counted less expected. */
  readonly difference: string | null
}

export const NO_CASH = '0.00'

/** What the drawer's payments in cash brought, by kind. */
export function drawerTakings({ ways }: CashTakings) {
  const cash = ways.filter(({ is_cash }) => is_cash)
  const of = (kind: 'sold' | 'cancelled' | 'returned') => addAmounts(...cash.map((way) => way[kind]))
  return { sales: of('sold'), cancelled: of('cancelled'), returned: of('returned') }
}

/** Expected and counted money of a session: the drawer first, then the other payment types by id. */
export function cashByWay(session: SessionCash, takings: CashTakings): CashWay[] {
  const countOf = (type: number | null) =>
    session.counted?.find(({ payment_type_id }) => payment_type_id === type)?.amount ?? null
  const wayOf = (type: number | null, counted: string | null, expected: string, is_cash: boolean): CashWay => ({
    payment_type_id: type,
    is_cash,
    expected,
    counted,
    difference: counted === null ? null : subtractAmounts(counted, expected),
  })
  const { sales, cancelled, returned } = drawerTakings(takings)
  const inDrawer = subtractAmounts(
    addAmounts(session.opening, sales, session.received, session.in),
    cancelled,
    returned,
    session.out,
  )
  const others = new Map(
    takings.ways.flatMap(({ payment_type_id, is_cash, sold, cancelled, returned }) =>
      is_cash ? [] : [[payment_type_id, subtractAmounts(sold, cancelled, returned)] as const],
    ),
  )
  for (const { payment_type_id: type } of session.counted ?? [])
    if (type !== null && !others.has(type)) others.set(type, NO_CASH)
  return [
    wayOf(takings.drawer, countOf(null), inDrawer, true),
    ...[...others].sort(([a], [b]) => a - b).map(([type, expected]) => wayOf(type, countOf(type), expected, false)),
  ]
}

const sizeOf = (amount: string): bigint => {
  const cents = toBigCents(amount)
  return cents < 0n ? -cents : cents
}

/** The largest difference of a payment type, whatever its sign; null if nothing was counted. */
export const largestDifference = (session: SessionCash, takings: CashTakings): string | null =>
  cashByWay(session, takings)
    .flatMap(({ difference }) => difference ?? [])
    .sort((a, b) => (sizeOf(a) < sizeOf(b) ? 1 : -1))[0] ?? null

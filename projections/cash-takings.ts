import { addAmounts, subtractAmounts, toBigCents } from '#domain/money.ts'
import type { SalePaymentDetails } from '#domain/payment-rules.ts'
import type { DataOf, EventOf } from '#events/catalogue.ts'
import type { Lookup } from '#ledger/command.ts'
import { byPk, markTable, plainSql, type Ref, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyRef } from './companies.ts'
import { projection } from './define-projection.ts'

/** Sales that name one Pix or card transaction: money pays one sale. */
interface PaymentProofRow {
  company_id: number
  /** See `toPaymentProof` and `nsuKey`. */
  key: string
  /** In the order of recording, cancelled ones included: the first and the last `KEPT` of them. */
  sale_ids: readonly number[]
}

const paymentProofs = table<PaymentProofRow>('payment_proofs', {
  about: 'Pix and card transactions of sales, by which a second use is found.',
  columns: { company_id: 'bigint', key: 'text', sale_ids: 'json' },
  keys: { pk: ['company_id', 'key'] },
})

/** The first would be the real one; a search is for the last. */
const KEPT = 10

export const paymentProofByKey = (key: string): Ref<PaymentProofRow> => byPk(paymentProofs, key)

/** Acquirers and tills fill an NSU with zeros or not. */
const bareNsu = (nsu: string): string => nsu.replace(/^0+(?=.)/, '')

/** Key by which a search finds an NSU: acquirers number apart, so it may be of several sales. */
export const nsuKey = (nsu: string): string => `nsu:${bareNsu(nsu)}`

/** Key by which a search finds a Pix. */
export const pixKey = (endToEndId: string): string => `pix:${endToEndId.toLowerCase()}`

/** What identifies the transaction of a payment: a Pix, or NSU and authorization at an acquirer; null if unknown. */
export function toPaymentProof({ card, end_to_end_id }: SalePaymentDetails): string | null {
  if (end_to_end_id) return pixKey(end_to_end_id)
  if (!card?.nsu || !card.authorization) return null
  return `card:${JSON.stringify([card.acquirer_cnpj, bareNsu(card.nsu), card.authorization.toLowerCase()])}`
}

type Recorded = EventOf<'SaleCompleted'> | EventOf<'OfflineSaleCompleted'> | EventOf<'OfflineSaleCancelled'>

const keysOf = ({ data }: Recorded): string[] => [
  ...new Set(
    data.payments.flatMap((payment) => {
      const proof = toPaymentProof(payment)
      const nsu = payment.card?.nsu
      return [...(proof === null ? [] : [proof]), ...(nsu ? [nsuKey(nsu)] : [])]
    }),
  ),
]

const handler = {
  refs: (event: Recorded) => keysOf(event).map(paymentProofByKey),
  apply(rows: Changes, event: Recorded) {
    const { company_id } = companyRef(rows)
    for (const key of keysOf(event)) {
      const known = rows.get(paymentProofByKey(key))?.sale_ids ?? []
      const sale_ids = [...known.slice(0, KEPT), ...[...known.slice(KEPT), event.data.id].slice(-KEPT)]
      rows.put(paymentProofs, { company_id, key, sale_ids })
    }
  },
}

export const paymentProofsProjection = projection('payment_proofs', [paymentProofs], {
  SaleCompleted: handler,
  OfflineSaleCompleted: handler,
  OfflineSaleCancelled: handler,
})

/** SQL of the cents of a decimal text. */
export const centsSql = (text: string): string => `replace(${text}, '.', '')::bigint`

/**
 * SQL of a lateral subquery `(way, cents)`: what a sale took by each payment type, which sums to its total. A till may
 * state payments with or without the change; `net` and `surcharge` never contain it. The empty way is the part of
 * the total that no payment states, as of a sale cancelled before it was paid.
 */
export const waysSql = (sale: string, payments = `${sale}.doc -> 'payments'`): string => `(
  select coalesce(p.way, '') as way,
    (case when grouping(p.way) = 1 then ${sale}.total_cents - coalesce(sum(p.cents), 0) else sum(p.cents) end)::bigint as cents
  from (
    select payment ->> 'payment_type_id' as way, ${centsSql("payment ->> 'net'")} + ${centsSql("payment ->> 'surcharge'")} as cents
    from json_array_elements(${payments}) payment) p
  group by grouping sets ((p.way), ())
  having grouping(p.way) = 0 or coalesce(sum(p.cents), 0) <> ${sale}.total_cents)`

/** SQL of how the money of a cancelled sale `sale` went back, as JSON; null if the cancellation does not state it. */
export const statedRefunds = (sale: string): string =>
  `case when ${sale}.doc ->> 'cancel_refunds' is not null then ${sale}.doc -> 'cancel_refunds' end`

/**
 * SQL of a lateral subquery `(way, cents)`: what a cancellation gave back by each payment type. As it states; sales on
 * credit and store credit are undone without money. Else as the sale was paid.
 */
export const moneyBackSql = (
  sale: string,
  { company, payments, refunds }: Readonly<Record<'company' | 'payments' | 'refunds', string>>,
): string => `(
  select p.way, p.cents from ${waysSql(sale, payments)} p
  where ${refunds} is null or exists (
    select from ${markTable('payment_types')} k where k.company_id = ${company} and k.id = nullif(p.way, '')::bigint
      and k.doc ->> 'kind' in ('credit_account', 'exchange_credit'))
  union all
  select refund ->> 'payment_type_id', ${centsSql("refund ->> 'amount'")} from json_array_elements(${refunds}) refund)`

/**
 * SQL of the units of a sale: each line counts its quantity, a weighed or measured one (a fraction) as one unit, because
 * kilograms and pieces have no sum. `countUnits` (domain) counts the same.
 */
export const unitsSql = (sale: string): string => `(
  select coalesce(sum(case when q.n = trunc(q.n) then q.n else 1 end), 0)::bigint
  from (select (line ->> 'quantity')::numeric as n from json_array_elements(${sale}.doc -> 'items') line) q)`

/** SQL of the key of a sale's seller: `user/3`, `name/Ana`, or `none`. */
export const sellerKeySql = (sale: string): string =>
  `coalesce('user/' || ${sale}.seller_id, 'name/' || ${sale}.seller_name, 'none')`

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

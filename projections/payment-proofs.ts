import type { SalePaymentDetails } from '#domain/payment-rules.ts'
import type { EventOf } from '#events/catalogue.ts'
import { byPk, type Ref, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { markTable } from '#postgres/table-marks.ts'
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

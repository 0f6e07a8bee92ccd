import type { SalePaymentDetails } from '#domain/sale-payment.ts'
import type { EventOf } from '#events/catalogue.ts'
import { byPk, type Ref, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyRef } from './companies.ts'
import { projection } from './define.ts'

/** Sales that name one Pix or card transaction: money pays one sale (SALE-785). */
interface PaymentProofRow {
  company_id: number
  /** See `proofOf` and `nsuKey`. */
  key: string
  /** In the order of recording, cancelled ones included: the first and the last `KEPT` of them. */
  sale_ids: readonly number[]
}

const paymentProofs = table<PaymentProofRow>('payment_proofs', {
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
export function proofOf({ card, end_to_end_id }: SalePaymentDetails): string | null {
  if (end_to_end_id) return pixKey(end_to_end_id)
  if (!card?.nsu || !card.authorization) return null
  return `card:${JSON.stringify([card.acquirer_cnpj, bareNsu(card.nsu), card.authorization.toLowerCase()])}`
}

type Recorded = EventOf<'SaleCompleted'> | EventOf<'OfflineSaleCompleted'> | EventOf<'OfflineSaleCancelled'>

const keysOf = ({ data }: Recorded): string[] => [
  ...new Set(
    data.payments.flatMap((payment) => {
      const proof = proofOf(payment)
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

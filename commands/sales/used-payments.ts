import type { SalePaymentDetails } from '#domain/sale-payment.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { paymentProofByKey, proofOf } from '#projections/payment-proofs.ts'
import { saleById } from '#projections/sales.ts'

type Payments = readonly SalePaymentDetails[]

/** A payment that pays another sale too. */
export interface UsedPayment {
  /** Position among the payments, from 0. */
  readonly position: number
  /** The Pix's id, or the NSU of the card's transaction. */
  readonly found: string
  /** The first other sale that is not cancelled. */
  readonly sale_id: number
}

/** Rows that name the sales of the payments. */
export const proofRefs = (payments: Payments): AnyRef[] =>
  payments.flatMap((payment) => {
    const key = proofOf(payment)
    return key === null ? [] : [paymentProofByKey(key)]
  })

/** Those sales; `proofRefs` are loaded. */
export const provedSaleRefs = (rows: Rows, payments: Payments): AnyRef[] =>
  payments.flatMap((payment) => salesOf(rows, payment).map(saleById))

function salesOf(rows: Rows, payment: SalePaymentDetails): readonly number[] {
  const key = proofOf(payment)
  return (key === null ? null : rows.get(paymentProofByKey(key))?.sale_ids) ?? []
}

/** Payments of a new sale whose money already paid a sale that stands (SALE-785). */
export const findUsed = (rows: Rows, payments: Payments): UsedPayment[] =>
  payments.flatMap((payment, position) => {
    const sale_id = salesOf(rows, payment).find((id) => rows.get(saleById(id))?.status === 'completed')
    if (sale_id === undefined) return []
    return [{ position, found: payment.end_to_end_id ?? payment.card?.nsu ?? '', sale_id }]
  })

import type { DataOf } from '#events/catalogue.ts'

/** `pending`: no final answer of the provider yet, or still in process there. */
export const REFUND_STATUSES = ['pending', 'completed', 'refused'] as const
export type RefundStatus = (typeof REFUND_STATUSES)[number]

/** Requested refund of an order and its result, as the API returns it. */
export interface RefundObject {
  refund_id: string
  provider_payment_id: string
  /** Null until the provider takes the refund. */
  provider_refund_id: string | null
  amount: string
  status: RefundStatus
  /** Reason why the provider refused; null otherwise. */
  refusal: string | null
  restock: { catalog_item_id: number; quantity: string }[]
  requested_at: string
  completed_at: string | null
}

type Refunds = readonly RefundObject[]

/** A refused refund that starts again becomes the latest. */
export function refundRequested(refunds: Refunds, data: DataOf<'OrderRefundRequested'>, at: string): RefundObject[] {
  const { refund_id, provider_payment_id, amount, restock } = data
  const requested: RefundObject = {
    refund_id,
    provider_payment_id,
    provider_refund_id: null,
    amount,
    status: 'pending',
    refusal: null,
    restock,
    requested_at: at,
    completed_at: null,
  }
  return [...refunds.filter((refund) => refund.refund_id !== refund_id), requested]
}

export const refundRefused = (refunds: Refunds, data: DataOf<'OrderRefundRefused'>): RefundObject[] =>
  refunds.map((refund) =>
    refund.refund_id === data.refund_id ? { ...refund, status: 'refused', refusal: data.reason } : refund,
  )

export const refundAccepted = (refunds: Refunds, data: DataOf<'OrderRefundAccepted'>): RefundObject[] =>
  refunds.map((refund) =>
    refund.refund_id === data.refund_id
      ? { ...refund, status: 'pending', provider_refund_id: data.provider_refund_id, refusal: null }
      : refund,
  )

export const refundCompleted = (refunds: Refunds, data: DataOf<'OrderRefundCompleted'>, at: string): RefundObject[] =>
  refunds.map((refund) =>
    refund.refund_id === data.refund_id
      ? {
          ...refund,
          status: 'completed',
          provider_refund_id: data.provider_refund_id,
          refusal: null,
          completed_at: at,
        }
      : refund,
  )

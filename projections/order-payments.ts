import type { OrderStatus } from '#domain/orders.ts'
import type { DataOf } from '#events/catalogue.ts'

/** An attempt to pay an order, and what became of it, as the API shows it. The provider's fields are null until it tells of a payment. */
export interface PaymentObject {
  /** Null for a payment that none of our attempts is known to have made. */
  attempt_id: string | null
  provider_payment_id: string | null
  /** In the provider's words. */
  provider_status: string | null
  status_detail: string | null
  /** In ours. An attempt that the provider refused is `failed`, without moving the order. */
  status: OrderStatus
  payment_method_id: string | null
  amount: string
  commission_percentage: string
  live_mode: boolean | null
  /** Why the provider made no payment of the attempt; null otherwise. */
  refusal: string | null
  started_at: string
  updated_at: string
}

type Payments = readonly PaymentObject[]

/** An attempt that was refused before starts again, as the latest. */
export function attemptStarted(payments: Payments, data: DataOf<'PaymentStarted'>, at: string): PaymentObject[] {
  const { attempt_id, payment_method_id, amount, commission_percentage } = data
  const started: PaymentObject = {
    attempt_id,
    provider_payment_id: null,
    provider_status: null,
    status_detail: null,
    status: 'pending',
    payment_method_id,
    amount,
    commission_percentage,
    live_mode: null,
    refusal: null,
    started_at: at,
    updated_at: at,
  }
  return [...payments.filter((payment) => payment.attempt_id !== attempt_id), started]
}

export function attemptRefused(payments: Payments, data: DataOf<'PaymentRefused'>, at: string): PaymentObject[] {
  return payments.map((payment) =>
    payment.attempt_id === data.attempt_id
      ? { ...payment, status: 'failed', refusal: data.reason, updated_at: at }
      : payment,
  )
}

/** The payment takes the place of what was known of it, and of the attempt that made it. */
export function paymentRecorded(
  payments: Payments,
  data: DataOf<'PaymentRecorded'>,
  total: string,
  at: string,
): PaymentObject[] {
  const { attempt_id, provider_payment_id, provider_status, status_detail, status, live_mode } = data
  const attempt = payments.find((payment) => attempt_id !== null && payment.attempt_id === attempt_id)
  const known = payments.find((payment) => payment.provider_payment_id === provider_payment_id)
  const recorded: PaymentObject = {
    attempt_id,
    provider_payment_id,
    provider_status,
    status_detail,
    status,
    payment_method_id: (attempt ?? known)?.payment_method_id ?? null,
    amount: total,
    commission_percentage: data.commission_percentage,
    live_mode,
    refusal: null,
    started_at: (attempt ?? known)?.started_at ?? at,
    updated_at: at,
  }
  const replaced = attempt ?? known
  if (!replaced) return [...payments, recorded]
  return payments.flatMap((payment) => {
    if (payment === replaced) return [recorded]
    return payment === known ? [] : [payment]
  })
}

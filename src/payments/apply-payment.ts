import { RecordPaymentInput, recordedStateOf, recordPayment, reportedStateOf } from '#commands/orders/record-payment.ts'
import { fromCents } from '#domain/money.ts'
import { classifyReport } from '#domain/orders.ts'
import type { Refusal } from '#domain/refusal.ts'
import { isRefusal } from '#ledger/command.ts'
import type { Idempotency } from '#ledger/write/idempotency.ts'
import { asSystem, runCommand } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import type { OrderObject } from '#projections/orders.ts'
import type { ProviderPayment, ProviderRefund } from './provider-port.ts'

/** Required properties of an order's payment. */
export interface ExpectedPayment {
  readonly reference: string
  readonly totalCents: number
  /** Whether its store takes test payments only. */
  readonly sandbox: boolean
}

/** Whether a payment of the provider matches the order, its amount, and the store's mode. */
export const matchesOrder = (payment: ProviderPayment, { reference, totalCents, sandbox }: ExpectedPayment): boolean =>
  payment.externalReference === reference && payment.amountCents === totalCents && payment.liveMode === !sandbox

/** Result of applying a payment to an order; `ignored`: unknown status. */
export type PaymentOutcome = 'applied' | 'duplicate' | 'stale' | 'ignored'

/** Refund of a payment as commands take it. */
export const listedRefund = ({ id, amountCents, status }: ProviderRefund) => ({
  id,
  amount: fromCents(amountCents),
  status,
})

/** Input of `recordPayment` for a fetched payment. */
export const paymentRecordOf = (orderId: number, payment: ProviderPayment): RecordPaymentInput =>
  RecordPaymentInput.parse({
    id: orderId,
    attempt_id: payment.attemptId,
    provider_payment_id: payment.id,
    provider_status: payment.status,
    status_detail: payment.statusDetail,
    live_mode: payment.liveMode,
    ...payment.details,
    refunded: fromCents(payment.refundedCents),
    changed_at: payment.changedAt ?? undefined,
    expires_at: payment.expiresAt ?? undefined,
    refunds: payment.refunds?.map(listedRefund),
  })

/**
 * Applies a fetched payment, already checked against order and amount, and returns the updated order. Refused with
 * `not_found` if the order does not exist.
 */
export async function applyPayment(
  writer: Writer,
  { companyId, orderId, requestId }: { companyId: number; orderId: number; requestId: string | null },
  payment: ProviderPayment,
  idempotency?: Idempotency,
): Promise<{ outcome: PaymentOutcome; order: OrderObject } | Refusal> {
  const record = paymentRecordOf(orderId, payment)
  const answer = await runCommand(writer, asSystem(companyId, requestId), recordPayment, record, { idempotency })
  if (isRefusal(answer)) return answer
  const order = answer.record as OrderObject
  if (answer.replayed) return { order, outcome: 'duplicate' }
  return { order, outcome: answer.outcome === 'unchanged' ? whyUnchanged(order, record) : 'applied' }
}

function whyUnchanged(order: OrderObject, record: RecordPaymentInput): PaymentOutcome {
  const told = reportedStateOf(record, order.total)
  if (told === null) return 'ignored'
  const known = order.payments.find((payment) => payment.provider_payment_id === record.provider_payment_id)
  return classifyReport(known ? recordedStateOf(known) : null, told)
}

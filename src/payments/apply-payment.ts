import { v5 as uuidv5 } from 'uuid'
import { RecordPaymentInput, recordedStateOf, recordPayment, reportedStateOf } from '#commands/order-payment-command.ts'
import { fromCents } from '#domain/money.ts'
import { classifyReport, isPending, readStatus } from '#domain/order-states.ts'
import type { Refusal } from '#domain/refusals.ts'
import { isRefusal } from '#ledger/command.ts'
import type { Idempotency } from '#ledger/write/idempotency.ts'
import { asSystem, runCommand } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import type { OrderObject } from '#projections/orders.ts'
import {
  type PaymentProvider,
  type ProviderAccount,
  type ProviderPayment,
  type ProviderRefund,
  ProviderRefused,
  ProviderUnavailable,
} from './provider-port.ts'

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

/** Whether a payment is a test of a production store, or a production payment of a test store. */
export const isOfOtherMode = ({ liveMode }: ProviderPayment, { sandbox }: Pick<ProviderAccount, 'sandbox'>): boolean =>
  liveMode === sandbox

export const OTHER_MODE = 'a credencial da loja é de outro ambiente (teste ou produção)'

/**
 * Ends a payment of the other mode at the provider: a pending one is cancelled, a paid one is given back. It must not
 * stay payable, since it would never be recorded (PAY-52). A second call changes nothing.
 * @throws ProviderUnavailable, ProviderMisconfigured: it may still be payable
 */
export async function endOtherMode(
  provider: PaymentProvider,
  account: ProviderAccount,
  payment: ProviderPayment,
): Promise<void> {
  const ended = isPending(payment.status) ? await provider.cancelPayment(account, payment.id) : payment
  if (isPending(ended.status)) throw new ProviderUnavailable('provider did not cancel a payment of the other mode')
  const status = readStatus(ended.status, ended.statusDetail)?.status
  const amountCents = leftOf(ended)
  if (status !== 'paid' || amountCents === 0) return
  const refund = { refundId: uuidv5(payment.id, REFUNDS), paymentId: payment.id, amountCents }
  try {
    await provider.createRefund(account, refund)
  } catch (error) {
    if (!(error instanceof ProviderRefused)) throw error
    // A refund in process may be answered like a refusal.
    const now = await provider.getPayment(account, payment.id)
    if (!now || leftOf(now) > 0) throw new ProviderUnavailable('provider did not give back a payment of the other mode')
  }
}

/** Namespace of the refunds' ids; an arbitrary constant. */
const REFUNDS = '5f6f2f0e-3f57-4c0b-8a6e-0d1b5a4c7e93'

/** Cents that are neither refunded nor being refunded. */
function leftOf({ amountCents, refundedCents, refunds }: ProviderPayment): number {
  const taken = (refunds ?? []).reduce((sum, each) => (each.status === 'refused' ? sum : sum + each.amountCents), 0)
  return Math.max(0, (amountCents ?? 0) - Math.max(taken, refundedCents))
}

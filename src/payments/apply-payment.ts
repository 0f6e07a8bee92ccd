import { v5 as uuidv5 } from 'uuid'
import { cancelOrder } from '#commands/order-commands.ts'
import { RecordPaymentInput, recordPayment, toRecordedState, toReportedState } from '#commands/order-payment-command.ts'
import type { Vault } from '#crypto/vault.ts'
import { fromCents, toCents } from '#domain/money.ts'
import { classifyReport, hasBeenPaid, isPending, readStatus } from '#domain/order-states.ts'
import { type Refusal, refuse } from '#domain/refusals.ts'
import { isRefusal } from '#ledger/command.ts'
import { type Answer, type Idempotency, lookUpReplay } from '#ledger/write/idempotency.ts'
import { type Actor, asSystem, runCommand } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import type { Database } from '#postgres/database.ts'
import { isPaymentOpen } from '#projections/order-payments.ts'
import type { OrderObject } from '#projections/orders.ts'
import { findStore } from '#queries/company-queries.ts'
import { findPayableOrder } from '#queries/order-queries.ts'
import { fullReader } from '#queries/reader.ts'
import {
  type PaymentProvider,
  type ProviderAccount,
  ProviderMisconfigured,
  type ProviderPayment,
  type ProviderRefund,
  ProviderRefused,
  ProviderUnavailable,
} from './provider-port.ts'
import { cancellationRequest } from './provider-requests.ts'
import { accountAt } from './store-connections.ts'

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
export const toListedRefund = ({ id, amountCents, status }: ProviderRefund) => ({
  id,
  amount: fromCents(amountCents),
  status,
})

/** Input of `recordPayment` for a fetched payment. */
export const toPaymentRecord = (orderId: number, payment: ProviderPayment): RecordPaymentInput =>
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
    refunds: payment.refunds?.map(toListedRefund),
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
  const record = toPaymentRecord(orderId, payment)
  const answer = await runCommand(writer, asSystem(companyId, requestId), recordPayment, record, { idempotency })
  if (isRefusal(answer)) return answer
  const order = answer.record as OrderObject
  if (answer.replayed) return { order, outcome: 'duplicate' }
  return { order, outcome: answer.outcome === 'unchanged' ? whyUnchanged(order, record) : 'applied' }
}

function whyUnchanged(order: OrderObject, record: RecordPaymentInput): PaymentOutcome {
  const told = toReportedState(record, order.total)
  if (told === null) return 'ignored'
  const known = order.payments.find((payment) => payment.provider_payment_id === record.provider_payment_id)
  return classifyReport(known ? toRecordedState(known) : null, told)
}

/** Whether a payment is a test of a production store, or a production payment of a test store. */
export const isOfOtherMode = ({ liveMode }: ProviderPayment, { sandbox }: Pick<ProviderAccount, 'sandbox'>): boolean =>
  liveMode === sandbox

export const OTHER_MODE = 'a credencial da loja é de outro ambiente (teste ou produção)'

/**
 * Ends a payment of the other mode at the provider: a pending one is cancelled, a paid one is given back. It must not
 * stay payable, since it would never be recorded. A second call changes nothing.
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

interface Cancelling {
  readonly pool: Database
  readonly vault: Vault
  readonly writer: Writer
  readonly provider: PaymentProvider
}

interface Cancellation {
  readonly acting: Actor
  readonly idempotency: Idempotency | undefined
  readonly orderId: number
  readonly reason: string | null
}

/**
 * Cancels an order; pending payments are cancelled at the provider first. A payment approved before that wins, and the
 * order is refused with `order_already_paid`. An attempt that starts meanwhile is cancelled afterwards, by this call,
 * by the attempt itself or by the sweep.
 * @throws ProviderUnavailable, ProviderMisconfigured: the order stays open
 */
export async function cancelWithProvider(context: Cancelling, cancellation: Cancellation): Promise<Answer | Refusal> {
  const { acting, idempotency, orderId, reason } = cancellation
  const replay = await lookUpReplay(context.pool, { ...acting, idempotency })
  if (replay) return replay
  const found = await findPayableOrder(fullReader(context.pool, acting.companyId), orderId)
  if (!found) return refuse('not_found')
  const input = { id: orderId, reason }
  if (acting.isDryRun) return tryCancellation(context, cancellation, found.order)
  if (!hasBeenPaid(found.order.payments)) await cancelOpenPayments(context, acting, found.order)
  const answer = await runCommand(context.writer, acting, cancelOrder, input, { idempotency })
  if (!isRefusal(answer) && !answer.replayed) await cancelLatePayments(context, acting, answer.record as OrderObject)
  return answer
}

/** Of attempts without an answer of the provider, the requests are not known before it is asked. */
async function tryCancellation(
  { writer, ...context }: Cancelling,
  { acting, idempotency, orderId, reason }: Cancellation,
  order: OrderObject,
): Promise<Answer | Refusal> {
  const open = hasBeenPaid(order.payments) ? [] : order.payments.filter(isPaymentOpen)
  if (open.length > 0) await storeAccount(context, order)
  const answer = await runCommand(writer, acting, cancelOrder, { id: orderId, reason }, { idempotency })
  if (isRefusal(answer) || !answer.dryRun) return answer
  const ids = open.flatMap(({ provider_payment_id }) => provider_payment_id ?? [])
  return { ...answer, dryRun: { ...answer.dryRun, requests: ids.map(cancellationRequest) } }
}

/** @throws ProviderMisconfigured */
async function storeAccount({ pool, vault }: Pick<Cancelling, 'pool' | 'vault'>, order: OrderObject) {
  const store = await findStore(pool, vault, order.store_alias)
  if (!store?.accessToken) throw new ProviderMisconfigured('store has no access token; set one')
  return { account: accountAt(store), sandbox: store.sandbox }
}

/**
 * Cancels at the provider attempts that started while the order was cancelled. If the provider is unavailable, the
 * sweep does it.
 */
export async function cancelLatePayments(context: Cancelling, acting: Actor, order: OrderObject): Promise<void> {
  if (order.cancelled_at === null) return
  try {
    await cancelOpenPayments(context, acting, order)
  } catch {
    // The order is cancelled: the response must not fail.
  }
}

/** Cancels all pending payments of an order at the provider, and records their states. */
async function cancelOpenPayments(
  { pool, vault, writer, provider }: Cancelling,
  { companyId, requestId }: Actor,
  order: OrderObject,
): Promise<void> {
  const open = order.payments.filter(isPaymentOpen)
  if (open.length === 0) return
  const { account, sandbox } = await storeAccount({ pool, vault }, order)
  const expected = { reference: order.provider_reference, totalCents: toCents(order.total), sandbox }
  const ids = new Set(open.flatMap(({ provider_payment_id }) => provider_payment_id ?? []))
  if (ids.size < open.length)
    for (const found of await provider.findPayments(account, expected.reference))
      if (matchesOrder(found, expected) && !order.payments.some((known) => known.provider_payment_id === found.id))
        ids.add(found.id)
  for (const id of ids) {
    const payment = await endPayment(provider, account, id)
    if (payment && matchesOrder(payment, expected))
      await applyPayment(writer, { companyId, orderId: order.id, requestId }, payment)
  }
}

/** Cancels a payment if it is pending, and returns its final state; null if it does not exist. */
async function endPayment(provider: PaymentProvider, account: ProviderAccount, id: string) {
  const payment = await provider.getPayment(account, id)
  return payment && isPending(payment.status) ? provider.cancelPayment(account, id) : payment
}

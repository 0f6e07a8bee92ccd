import { cancelOrder } from '#commands/order-commands.ts'
import type { Vault } from '#crypto/vault.ts'
import { toCents } from '#domain/money.ts'
import { hasBeenPaid, isPending } from '#domain/order-states.ts'
import { type Refusal, refuse } from '#domain/refusals.ts'
import { isRefusal } from '#ledger/command.ts'
import { type Answer, type Idempotency, lookUpReplay } from '#ledger/write/idempotency.ts'
import { type Actor, runCommand } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import type { Database } from '#postgres/database.ts'
import { isPaymentOpen } from '#projections/order-payments.ts'
import type { OrderObject } from '#projections/orders.ts'
import { findPayableOrder } from '#queries/order-queries.ts'
import { fullReader } from '#queries/reader.ts'
import { findStore } from '#queries/store-queries.ts'
import { applyPayment, matchesOrder } from './apply-payment.ts'
import { type PaymentProvider, type ProviderAccount, ProviderMisconfigured } from './provider-port.ts'
import { accountAt } from './store-connections.ts'

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
  if (!hasBeenPaid(found.order.payments)) await cancelOpenPayments(context, acting, found.order)
  const input = { id: orderId, reason }
  const answer = await runCommand(context.writer, acting, cancelOrder, input, { idempotency })
  if (!isRefusal(answer) && !answer.replayed) await cancelLatePayments(context, acting, answer.record as OrderObject)
  return answer
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
  const store = await findStore(pool, vault, order.store_alias)
  if (!store?.accessToken) throw new ProviderMisconfigured('store has no access token; set one')
  const [account, { sandbox }] = [accountAt(store), store]
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

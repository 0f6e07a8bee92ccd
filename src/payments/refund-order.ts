import type { Pool } from 'pg'
import { v5 as uuidv5 } from 'uuid'
import type { z } from 'zod'
import { recordPayment } from '#commands/orders/record-payment.ts'
import { completeRefund, type RefundInput, refuseRefund, requestRefund } from '#commands/orders/refunds.ts'
import { toCents } from '#domain/money.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { isRefusal } from '#ledger/command.ts'
import { type Idempotency, lookUpReplay } from '#ledger/write/idempotency.ts'
import { type Acting, runAs, runCommand } from '#ledger/write/run.ts'
import type { Answer } from '#ledger/write/unit-of-work.ts'
import type { Writer } from '#ledger/write/writer.ts'
import type { Vault } from '#lib/vault.ts'
import type { RefundObject } from '#projections/order-refunds.ts'
import type { OrderObject } from '#projections/orders.ts'
import { findPayableOrder } from '#queries/orders.ts'
import { findStore } from '#queries/stores.ts'
import { fits, recordOf } from './apply-payment.ts'
import { accountOf, CREATED, reasonOf } from './pay-order.ts'
import {
  type PaymentProvider,
  type ProviderAccount,
  ProviderMisconfigured,
  ProviderRefused,
  ProviderUnavailable,
} from './provider-port.ts'

interface Refunding {
  readonly pool: Pool
  readonly vault: Vault
  readonly writer: Writer
  readonly provider: PaymentProvider
}

interface Refund {
  readonly acting: Acting
  readonly idempotency: Idempotency
  readonly orderId: number
  readonly refund: z.infer<typeof RefundInput>
}

/** Namespace of the ids of refunds; any fixed one would do. */
const REFUNDS = '0c3f6a52-7f0d-4f3e-9a41-5d8f5b8e2c77'

/**
 * Gives money of an order back: the refund is recorded, the provider asked under the refund's id, its answer recorded, and the
 * payment as it then stands. The same key and request give the same refund, so that a crash at any point, or a call at the
 * same time, gives back once. Only the final answer is stored under the key.
 * @throws ProviderUnavailable when nobody knows whether it was given back: asking again with the same key is safe
 * @throws ProviderMisconfigured when the store's credentials are missing or wrong
 */
export async function refundOrder(
  context: Refunding,
  { acting: caller, idempotency, orderId, refund }: Refund,
): Promise<Answer | Refusal> {
  const { guard, ...acting } = caller
  const { pool, writer, provider } = context
  const replay = await lookUpReplay(pool, acting.companyId, idempotency)
  if (replay) return replay
  const found = await findPayableOrder(pool, acting.companyId, orderId)
  if (!found) return refuse('not_found')
  const reference = found.order.provider_reference
  const refund_id = uuidv5(`${reference}\n${idempotency.requestHash}\n${idempotency.key}`, REFUNDS)
  const request = { ...refund, id: orderId, refund_id, idempotency_key: idempotency.key }
  const order = await runAs<OrderObject, typeof request>(writer, { ...acting, guard }, requestRefund, request)
  if (isRefusal(order)) return order
  const asked = order.refunds.find((each) => each.refund_id === refund_id)
  if (!asked) throw new Error(`refund ${refund_id} was requested and is not there`)
  const store = await findStore(pool, context.vault, order.store_alias)
  const account = accountOf(store)
  const refused = await giveBack({ writer, provider }, { acting, orderId, account }, asked)
  if (refused) return refused
  const payment = await provider.getPayment(account, asked.provider_payment_id)
  const expected = { reference, totalCents: toCents(order.total), sandbox: account.sandbox }
  if (!payment || !fits(payment, expected)) throw new ProviderUnavailable('the provider answered with another payment')
  // Its answer is the request's.
  return runCommand(writer, acting, recordPayment, recordOf(orderId, payment), { reply: CREATED, idempotency })
}

interface Place {
  readonly acting: Acting
  readonly orderId: number
  readonly account: ProviderAccount
}

/** Has the provider give back what was requested, if it is not known to have done so, and records its answer. */
export async function giveBack(
  { writer, provider }: Pick<Refunding, 'writer' | 'provider'>,
  { acting, orderId, account }: Place,
  { refund_id, provider_payment_id, amount, status }: RefundObject,
): Promise<Refusal | null> {
  if (status === 'completed') return null
  const giveUp = (reason: string) => runAs(writer, acting, refuseRefund, { id: orderId, refund_id, reason })
  const wanted = { refundId: refund_id, paymentId: provider_payment_id, amountCents: toCents(amount) }
  let provider_refund_id: string
  try {
    provider_refund_id = await provider.createRefund(account, wanted)
  } catch (error) {
    if (error instanceof ProviderMisconfigured) await giveUp('configuração do provedor inválida')
    if (!(error instanceof ProviderRefused)) throw error
    await giveUp(reasonOf(error))
    return refuse('refund_refused', { causes: [...error.causes] })
  }
  const completed = await runAs(writer, acting, completeRefund, { id: orderId, refund_id, provider_refund_id })
  return isRefusal(completed) ? completed : null
}

import type { Pool } from 'pg'
import { v5 as uuidv5 } from 'uuid'
import type { z } from 'zod'
import { type RecordPaymentInput, recordPayment } from '#commands/orders/record-payment.ts'
import { completeRefund, type RefundInput, refuseRefund, requestRefund } from '#commands/orders/refunds.ts'
import type { Vault } from '#crypto/vault.ts'
import { toCents } from '#domain/money.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { isRefusal } from '#ledger/command.ts'
import type { Answer } from '#ledger/write/answer.ts'
import { type Idempotency, lookUpReplay } from '#ledger/write/idempotency.ts'
import { type Actor, runAs, runCommand } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import type { RefundObject } from '#projections/order-refunds.ts'
import type { OrderObject } from '#projections/orders.ts'
import { findPayableOrder } from '#queries/orders.ts'
import { findStore } from '#queries/stores.ts'
import { matchesOrder, paymentRecordOf } from './apply-payment.ts'
import { providerAccountOf, providerReasonOf } from './pay-order.ts'
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
  readonly acting: Actor
  readonly idempotency: Idempotency
  readonly orderId: number
  readonly refund: z.infer<typeof RefundInput>
}

/** Namespace of refund ids; an arbitrary constant. */
const REFUNDS = '0c3f6a52-7f0d-4f3e-9a41-5d8f5b8e2c77'

/**
 * Refunds money of an order: records the refund, calls the provider under the refund's id, records its response and the
 * payment's new state. Equal keys and requests give the same refund, so that crashes and concurrent calls refund once.
 * Only the final response is stored under the key.
 * @throws ProviderUnavailable if it is unknown whether the refund happened: retrying with the same key is safe
 * @throws ProviderMisconfigured if the store's credentials are missing or wrong
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
  const { provider_reference: reference, store_alias } = found.order
  // Checked first: without credentials no amount is reserved.
  const account = providerAccountOf(await findStore(pool, context.vault, store_alias))
  const refund_id = uuidv5(`${reference}\n${idempotency.requestHash}\n${idempotency.key}`, REFUNDS)
  const request = { ...refund, id: orderId, refund_id, idempotency_key: idempotency.key }
  const requested = await runCommand(writer, { ...acting, guard }, requestRefund, request)
  if (isRefusal(requested)) return requested
  const order = requested.record as OrderObject
  const asked = order.refunds.find((each) => each.refund_id === refund_id)
  if (!asked) throw new Error(`refund order: refund ${refund_id} is missing after its request`)
  const isFirst = requested.outcome !== 'unchanged'
  const place = { acting, orderId, account, isFirst }
  const refused = await refundAtProvider({ writer, provider }, place, asked)
  if (refused) return refused
  const record = await paymentNow(provider, place, order, asked)
  // The response to the request, which created the refund.
  return runCommand(writer, acting, recordPayment, record, { outcome: 'created', idempotency })
}

/**
 * Repeats a refund without an answer, for callers that lost its key. An answered refund stays unchanged; null if the
 * refund does not exist. @throws as `refundOrder`
 */
export async function repeatRefund(
  { pool, vault, writer, provider }: Refunding,
  {
    acting: caller,
    orderId,
    refundId,
  }: { readonly acting: Actor; readonly orderId: number; readonly refundId: string },
): Promise<Answer | Refusal | null> {
  // The guard does not apply: what the provider did is recorded even if the caller lost access meanwhile.
  const { guard: _, ...acting } = caller
  const order = (await findPayableOrder(pool, acting.companyId, orderId))?.order
  const asked = order?.refunds.find(({ refund_id }) => refund_id === refundId)
  if (!order || asked?.status !== 'pending') return null
  const place = {
    acting,
    orderId,
    account: providerAccountOf(await findStore(pool, vault, order.store_alias)),
    isFirst: false,
  }
  const refused = await refundAtProvider({ writer, provider }, place, asked)
  if (refused) return refused
  return runCommand(writer, acting, recordPayment, await paymentNow(provider, place, order, asked))
}

/** Current state of a payment after a refund. */
async function paymentNow(
  provider: PaymentProvider,
  { account, orderId }: Place,
  { provider_reference, total }: OrderObject,
  { provider_payment_id }: RefundObject,
): Promise<RecordPaymentInput> {
  const payment = await provider.getPayment(account, provider_payment_id)
  const expected = { reference: provider_reference, totalCents: toCents(total), sandbox: account.sandbox }
  if (!payment || !matchesOrder(payment, expected))
    throw new ProviderUnavailable('provider returned a different payment')
  return paymentRecordOf(orderId, payment)
}

interface Place {
  readonly acting: Actor
  readonly orderId: number
  readonly account: ProviderAccount
  /** Whether this is the refund's first call. Then wrong credentials mean that nothing was refunded. */
  readonly isFirst: boolean
}

/** Executes a requested refund at the provider unless it is known to be completed, and records the result. */
export async function refundAtProvider(
  { writer, provider }: Pick<Refunding, 'writer' | 'provider'>,
  { acting, orderId, account, isFirst }: Place,
  { refund_id, provider_payment_id, amount, status }: RefundObject,
): Promise<Refusal | null> {
  if (status === 'completed') return null
  const giveUp = (reason: string) => runAs(writer, acting, refuseRefund, { id: orderId, refund_id, reason })
  const wanted = { refundId: refund_id, paymentId: provider_payment_id, amountCents: toCents(amount) }
  let provider_refund_id: string
  try {
    provider_refund_id = await provider.createRefund(account, wanted)
  } catch (error) {
    if (error instanceof ProviderMisconfigured && isFirst) await giveUp('configuração do provedor inválida')
    if (!(error instanceof ProviderRefused)) throw error
    await giveUp(providerReasonOf(error))
    return refuse('refund_refused', { causes: [...error.causes] })
  }
  const completed = await runAs(writer, acting, completeRefund, { id: orderId, refund_id, provider_refund_id })
  return isRefusal(completed) ? completed : null
}

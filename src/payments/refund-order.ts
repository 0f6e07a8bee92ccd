import { v5 as uuidv5 } from 'uuid'
import type { z } from 'zod'
import { completeRefund, type RefundInput, refuseRefund, requestRefund } from '#commands/order-attempts.ts'
import { recordPayment } from '#commands/order-payment-command.ts'
import { acceptRefund, settleRefund } from '#commands/order-settlement.ts'
import type { Vault } from '#crypto/vault.ts'
import { toCents } from '#domain/money.ts'
import { type Refusal, refuse } from '#domain/refusals.ts'
import { isRefusal } from '#ledger/command.ts'
import { type Answer, type Idempotency, lookUpReplay } from '#ledger/write/idempotency.ts'
import { type Actor, runAs, runCommand } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import type { Database } from '#postgres/database.ts'
import type { RefundObject } from '#projections/order-payments.ts'
import type { OrderObject } from '#projections/orders.ts'
import { findStore } from '#queries/company-queries.ts'
import { findPayableOrder } from '#queries/order-queries.ts'
import { fullReader } from '#queries/reader.ts'
import { type ExpectedPayment, matchesOrder, toListedRefund, toPaymentRecord } from './notifications.ts'
import { formatMisconfiguration, formatProviderReason, toProviderAccount } from './pay-order.ts'
import { refundRequest } from './provider-client.ts'
import {
  type PaymentProvider,
  type ProviderAccount,
  ProviderMisconfigured,
  type ProviderPayment,
  type ProviderRefund,
  ProviderRefused,
  ProviderUnavailable,
} from './provider-port.ts'

interface Refunding {
  readonly pool: Database
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
  const replay = await lookUpReplay(pool, { ...acting, idempotency })
  if (replay) return replay
  const found = await findPayableOrder(fullReader(pool, acting.companyId), orderId)
  if (!found) return refuse('not_found')
  const { provider_reference: reference, store_alias } = found.order
  // Checked first: without credentials no amount is reserved.
  const account = toProviderAccount(await findStore(pool, context.vault, store_alias))
  const { key, requestHash } = idempotency
  const refund_id = uuidv5(`${reference}\n${requestHash}\n${acting.actor}\n${key}`, REFUNDS)
  const request = { ...refund, id: orderId, refund_id, idempotency_key: key, caller: acting.actor }
  const requested = await runCommand(writer, { ...acting, guard }, requestRefund, request)
  if (isRefusal(requested)) return requested
  const order = requested.record as OrderObject
  const asked = order.refunds.find((each) => each.refund_id === refund_id)
  if (!asked) throw new Error(`refund order: refund ${refund_id} is missing after its request`)
  if (requested.dryRun) {
    const isKnown = asked.status === 'completed' || asked.provider_refund_id !== null
    const told = { paymentId: asked.provider_payment_id, amountCents: toCents(asked.amount) }
    const requests = isKnown ? [] : [refundRequest(told)]
    return { ...requested, outcome: 'created', dryRun: { ...requested.dryRun, requests } }
  }
  const isFirst = requested.outcome !== 'unchanged'
  const place = { acting, orderId, account, expected: expectedOf(order, account), isFirst }
  const refused = await refundAtProvider({ writer, provider }, place, asked)
  if (refused) return refused
  const payment = await paymentNow(provider, place, asked)
  const record = toPaymentRecord(orderId, payment)
  if (payment.refunds?.some(({ status }) => status === 'refused')) {
    const applied = await runAs<OrderObject>(writer, acting, recordPayment, record)
    if (isRefusal(applied)) return applied
    const now = applied.refunds.find((each) => each.refund_id === refund_id)
    // The provider accepted and then rejected it: the key is free again, as after any refusal.
    if (now?.status === 'refused') return refusedWith('rejected', now)
  }
  // The response to the request, which created the refund.
  return runCommand(writer, acting, recordPayment, record, { outcome: 'created', idempotency })
}

/**
 * Repeats a refund without an answer, for callers that lost its key; one in process is read again. An answered refund
 * stays unchanged; null if the refund does not exist. @throws as `refundOrder`
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
  const order = (await findPayableOrder(fullReader(pool, acting.companyId), orderId))?.order
  const asked = order?.refunds.find(({ refund_id }) => refund_id === refundId)
  if (!order || asked?.status !== 'pending') return null
  const account = toProviderAccount(await findStore(pool, vault, order.store_alias))
  const place = { acting, orderId, account, expected: expectedOf(order, account), isFirst: false }
  const refused = await refundAtProvider({ writer, provider }, place, asked)
  if (refused) return refused
  const record = toPaymentRecord(orderId, await paymentNow(provider, place, asked))
  return runCommand(writer, acting, recordPayment, record)
}

const expectedOf = ({ provider_reference, total }: OrderObject, { sandbox }: ProviderAccount): ExpectedPayment => ({
  reference: provider_reference,
  totalCents: toCents(total),
  sandbox,
})

/** State of the payment at the provider. @throws ProviderUnavailable, ProviderMisconfigured */
async function paymentNow(
  provider: PaymentProvider,
  { account, expected }: RefundContext,
  { provider_payment_id }: RefundObject,
): Promise<ProviderPayment> {
  const payment = await provider.getPayment(account, provider_payment_id)
  if (!payment || !matchesOrder(payment, expected))
    throw new ProviderUnavailable('provider returned a different payment')
  return payment
}

interface RefundContext {
  readonly acting: Actor
  readonly orderId: number
  readonly account: ProviderAccount
  readonly expected: ExpectedPayment
  /** Whether this is the refund's first call. Then wrong credentials mean that nothing was refunded. */
  readonly isFirst: boolean
}

type Context = Pick<Refunding, 'writer' | 'provider'>

/**
 * Requests a refund at the provider unless it is known there, and records the result. The payment's refunds are read
 * before the call, and again after any result but success: a refund in process may be answered like a refusal, and
 * would be made twice if it was requested again. Null if the provider has taken the refund, else the refusal.
 * @throws ProviderUnavailable, ProviderMisconfigured: the refund stays pending, except as PAY-51 says
 */
export async function refundAtProvider(
  context: Context,
  place: RefundContext,
  refund: RefundObject,
): Promise<Refusal | null> {
  if (refund.status === 'completed' || refund.provider_refund_id !== null) return null
  let made: ProviderRefund
  try {
    const before = await compareWithProvider(context, place, refund, null)
    if (before.status === 'refused') return refusedWith('refund_found', before)
    if (before.provider_refund_id !== null) return null
    made = await context.provider.createRefund(place.account, {
      refundId: refund.refund_id,
      paymentId: refund.provider_payment_id,
      amountCents: toCents(refund.amount),
    })
  } catch (error) {
    return afterFailure(context, place, refund, error)
  }
  const { orderId: id, acting } = place
  const result = { id, refund_id: refund.refund_id, provider_refund_id: made.id }
  const recorded = await runAs(
    context.writer,
    acting,
    made.status === 'pending' ? acceptRefund : completeRefund,
    result,
  )
  return isRefusal(recorded) ? recorded : null
}

/** Reads the payment, and records what it tells of the refund. Returns the refund as it is now. */
async function compareWithProvider(
  { writer, provider }: Context,
  place: RefundContext,
  refund: RefundObject,
  refusal: string | null,
): Promise<RefundObject> {
  const { acting, orderId: id } = place
  const payment = await paymentNow(provider, place, refund)
  if (payment.refunds === null) throw new ProviderUnavailable('provider returned an unreadable list of refunds')
  const { refund_id } = refund
  const { refunds: _, ...record } = toPaymentRecord(id, payment)
  const noted = await runAs(writer, acting, recordPayment, record)
  if (isRefusal(noted)) throw new Error(`refund order: order ${id} is missing`)
  const listed = payment.refunds.map(toListedRefund)
  const settled = await runAs<OrderObject>(writer, acting, settleRefund, { id, refund_id, listed, refusal })
  const now = isRefusal(settled) ? undefined : settled.refunds.find((each) => each.refund_id === refund_id)
  if (!now) throw new Error(`refund order: refund ${refund_id} is missing`)
  return now
}

/** Result of a refund after a failed call. @throws the failure if the result stays unknown */
async function afterFailure(
  context: Context,
  place: RefundContext,
  refund: RefundObject,
  failure: unknown,
): Promise<Refusal | null> {
  const { acting, orderId: id, isFirst } = place
  const { refund_id } = refund
  const isRefused = failure instanceof ProviderRefused
  if (!isRefused && !(failure instanceof ProviderUnavailable || failure instanceof ProviderMisconfigured)) throw failure
  const isCertain = isRefused || (failure instanceof ProviderMisconfigured && isFirst)
  const reason = failure instanceof ProviderMisconfigured ? formatMisconfiguration(failure) : reasonOf(failure)
  let now: RefundObject
  try {
    now = await compareWithProvider(context, place, refund, isCertain ? reason : null)
  } catch (error) {
    // Credentials that are not even good for reading refunded nothing.
    if (!isRefused && isCertain && error instanceof ProviderMisconfigured)
      await runAs(context.writer, acting, refuseRefund, { id, refund_id, reason })
    throw isRefused ? error : failure
  }
  if (now.provider_refund_id !== null) return null
  if (!isRefused) throw failure
  if (now.status !== 'refused') throw new ProviderUnavailable('refund cannot be told from another one of its amount')
  return refuse('refund_refused', { causes: [...failure.causes] })
}

const reasonOf = (failure: Error): string => (failure instanceof ProviderRefused ? formatProviderReason(failure) : '')

const refusedWith = (code: string, { refusal }: RefundObject): Refusal =>
  refuse('refund_refused', { causes: [{ code, description: refusal ?? '' }] })

import * as z from 'zod'
import { hasBeenPaid } from '#domain/orders.ts'
import { forgotten, invalid, refuse } from '#domain/refusal.ts'
import { boundedText, Id } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { ANSWER_RETENTION_MS, accept, command } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { isPaymentOpen } from '#projections/order-payments.ts'
import { type OrderRow, orderById } from '#projections/orders.ts'
import { type PaymentKeyRow, paymentByKey } from '#projections/payment-keys.ts'
import { storeById } from '#projections/stores.ts'

/** Limit of attempts per order: bounds the size of its record. */
const MAX_ATTEMPTS = 50

/** Actor whose Idempotency-Key it is; null for the service itself. */
export const KeyCaller = z.string().nullish()

/** The caller chooses the attempt id: a repeated request must carry the same one. */
export const StartPaymentInput = z.strictObject({
  id: Id,
  attempt_id: z.uuid(),
  /** Key of the request; one key of a caller identifies one attempt. */
  idempotency_key: z.string().nullable(),
  caller: KeyCaller,
  payment_method_id: boundedText(60),
  /** Cards only. */
  installments: z.int().positive().nullish(),
  /** Time to pay; null for cards, which are decided at once. */
  expires_in_minutes: z.int().positive().nullish(),
  /** Refuses to start while another attempt may still be paid. */
  only_if_none_waits: z.boolean().optional(),
})
export type StartPaymentInput = z.infer<typeof StartPaymentInput>

/**
 * Records an attempt to pay an order before the provider is called. Repeating it changes nothing: the provider is
 * called again with the same attempt id and charges once. An attempt without an answer may have charged or not, so
 * repeating it is refused if a new one would be. A refused attempt can be started again.
 */
export const startPayment = command<StartPaymentInput>({
  needs: ({ id, caller, idempotency_key }) => [
    orderById(id),
    ...(idempotency_key === null ? [] : [paymentByKey(caller, idempotency_key)]),
  ],
  needsMore: (rows, input) => {
    const order = rows.get(orderById(input.id))
    return [...(order ? [storeById(order.store_id)] : []), ...keyHolderRefs(rows, input)]
  },
  decide(rows, input, { now, recordedAt }) {
    const { id, attempt_id, idempotency_key, payment_method_id } = input
    const order = rows.get(orderById(id))
    if (!order) return refuse('not_found')
    const known = attemptOf(order, attempt_id)
    if (known && known.provider_payment_id !== null) return accept('unchanged', `order/${id}`)
    if (isKeyTaken(rows, input, recordedAt)) return refuse('idempotency_key_reuse')
    if (hasBeenPaid(order.doc.payments)) return refuse('order_already_paid')
    if (order.doc.cancelled_at !== null) return invalid('status', 'o pedido está cancelado')
    if (order.forgotten !== null) return forgotten(`order/${id}`)
    const store = rows.get(storeById(order.store_id))
    if (!store?.enabled) return invalid('store_alias', 'a loja está desativada')
    if (known && known.refusal === null) return accept('unchanged', `order/${id}`)
    if (input.only_if_none_waits && order.doc.payments.some(isPaymentOpen))
      return invalid('payments', 'o pedido já tem um pagamento que espera')
    if (!known && order.doc.payments.length >= MAX_ATTEMPTS)
      return invalid('payments', `o pedido já tem ${MAX_ATTEMPTS} tentativas de pagamento`)
    const started = event('PaymentStarted', {
      id,
      attempt_id,
      idempotency_key,
      payment_method_id,
      ...(input.installments ? { installments: input.installments } : {}),
      ...(input.expires_in_minutes ? { expires_at: minutesAfter(now, input.expires_in_minutes) } : {}),
      amount: order.doc.total,
      commission_percentage: store.doc.commission_percentage,
    })
    return accept('created', started.subject, [started])
  },
})

const MINUTE_MS = 60_000

const minutesAfter = (at: string, minutes: number): string =>
  new Date(Date.parse(at) + minutes * MINUTE_MS).toISOString()

const attemptOf = (order: Readonly<OrderRow> | null, attemptId: string) =>
  order?.doc.payments.find((payment) => payment.attempt_id === attemptId)

const claimOf = (rows: Rows, { caller, idempotency_key: key }: OwnKey): Readonly<PaymentKeyRow> | null =>
  key === null ? null : rows.get(paymentByKey(caller, key))

/** Order of the attempt or refund that an Idempotency-Key identifies. */
export const keyHolderRefs = (rows: Rows, key: OwnKey) => {
  const claim = claimOf(rows, key)
  return claim ? [orderById(claim.order_id)] : []
}

type OwnKey = Pick<StartPaymentInput, 'caller' | 'idempotency_key'>
/** Attempt or refund under a key. */
type KeyedAttempt = OwnKey & Pick<StartPaymentInput, 'attempt_id'>

/** Whether the key identifies another attempt or refund that may still move money. Its response is not stored yet. */
export function isKeyTaken(rows: Rows, attempt: KeyedAttempt, now: string): boolean {
  const claim = claimOf(rows, attempt)
  if (!claim || claim.attempt_id === attempt.attempt_id) return false
  if (Date.parse(now) - Date.parse(claim.started_at) >= ANSWER_RETENTION_MS) return false
  const holder = rows.get(orderById(claim.order_id))
  const refund = holder?.doc.refunds.find(({ refund_id }) => refund_id === claim.attempt_id)
  const payment = attemptOf(holder, claim.attempt_id)
  return (refund !== undefined && refund.status !== 'refused') || (payment !== undefined && payment.refusal === null)
}

export const RefusePaymentInput = z.strictObject({ id: Id, attempt_id: z.uuid(), reason: boundedText(500) })
export type RefusePaymentInput = z.infer<typeof RefusePaymentInput>

/**
 * Records that the provider rejected an attempt. If the provider reported a payment of the attempt meanwhile, the
 * payment wins.
 */
export const refusePayment = command<RefusePaymentInput>({
  needs: ({ id }) => [orderById(id)],
  decide(rows, { id, attempt_id, reason }) {
    const attempt = rows.get(orderById(id))?.doc.payments.find((payment) => payment.attempt_id === attempt_id)
    if (!attempt) return refuse('not_found')
    if (attempt.provider_payment_id !== null || attempt.refusal !== null) return accept('unchanged', `order/${id}`)
    return accept('updated', `order/${id}`, [event('PaymentRefused', { id, attempt_id, reason })])
  },
})

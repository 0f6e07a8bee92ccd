import * as z from 'zod'
import { fromCents, fromThousandths, MAX_THOUSANDTHS, Money, Quantity, toCents, toThousandths } from '#domain/money.ts'
import { findCarrier, hasBeenPaid, isChargeOver } from '#domain/order-states.ts'
import { type Refusal, refuse, refuseField, refuseForgotten } from '#domain/refusals.ts'
import { boundedText, Id } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { ANSWER_RETENTION_MS, accept, command, isRefusal, type NewEvent } from '#ledger/command.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { receivableById } from '#projections/finance.ts'
import {
  isPaymentOpen,
  type PaymentKeyRow,
  type PaymentObject,
  paymentByKey,
  type RefundObject,
} from '#projections/order-payments.ts'
import { type OrderObject, type OrderRow, orderById } from '#projections/orders.ts'
import { saleById } from '#projections/sales.ts'
import { getStock, stockById } from '#projections/stock.ts'
import { storeById } from '#projections/stores.ts'
import { saleRestocked, sumQuantity } from './order-commands.ts'
import { toReturnableSale } from './returned-goods.ts'

/** Limit of attempts per order: bounds the size of its record. */
const MAX_ATTEMPTS = 50

/** Actor whose Idempotency-Key it is; null for the service itself. */
const KeyCaller = z.string().nullish()

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
    return [...(order ? [storeById(order.store_id), ...accountRefs(order)] : []), ...keyHolderRefs(rows, input)]
  },
  decide(rows, input, { now, recordedAt }) {
    const { id, attempt_id, idempotency_key, payment_method_id } = input
    const order = rows.get(orderById(id))
    if (!order) return refuse('not_found')
    const known = attemptOf(order, attempt_id)
    if (known && known.provider_payment_id !== null) return accept('unchanged', `order/${id}`)
    if (isKeyTaken(rows, input, recordedAt)) return refuse('idempotency_key_reuse')
    if (hasBeenPaid(order.doc.payments)) return refuse('order_already_paid')
    if (order.doc.cancelled_at !== null) return refuseField('status', 'o pedido está cancelado')
    if (order.forgotten !== null) return refuseForgotten(`order/${id}`)
    const store = rows.get(storeById(order.store_id))
    if (!store?.enabled) return refuseField('store_alias', 'a loja está desativada')
    if (order.receivable_id !== null && isChargeOver(rows.get(receivableById(order.receivable_id)), order.doc.total))
      return refuseField('receivable_id', 'a conta foi paga ou mudou desde que o link foi feito')
    if (known && known.refusal === null) return accept('unchanged', `order/${id}`)
    if (input.only_if_none_waits && order.doc.payments.some(isPaymentOpen))
      return refuseField('payments', 'o pedido já tem um pagamento que espera')
    if (!known && order.doc.payments.length >= MAX_ATTEMPTS)
      return refuseField('payments', `o pedido já tem ${MAX_ATTEMPTS} tentativas de pagamento`)
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

/** Account that the order charges. */
const accountRefs = ({ receivable_id }: Readonly<OrderRow>) =>
  receivable_id === null ? [] : [receivableById(receivable_id)]

const MINUTE_MS = 60_000

const minutesAfter = (at: string, minutes: number): string =>
  new Date(Date.parse(at) + minutes * MINUTE_MS).toISOString()

const attemptOf = (order: Readonly<OrderRow> | null, attemptId: string) =>
  order?.doc.payments.find((payment) => payment.attempt_id === attemptId)

const claimOf = (rows: Rows, { caller, idempotency_key: key }: OwnKey): Readonly<PaymentKeyRow> | null =>
  key === null ? null : rows.get(paymentByKey(caller, key))

/** Order of the attempt or refund that an Idempotency-Key identifies. */
const keyHolderRefs = (rows: Rows, key: OwnKey) => {
  const claim = claimOf(rows, key)
  return claim ? [orderById(claim.order_id)] : []
}

type OwnKey = Pick<StartPaymentInput, 'caller' | 'idempotency_key'>
/** Attempt or refund under a key. */
type KeyedAttempt = OwnKey & Pick<StartPaymentInput, 'attempt_id'>

/** Whether the key identifies another attempt or refund that may still move money. Its response is not stored yet. */
function isKeyTaken(rows: Rows, attempt: KeyedAttempt, now: string): boolean {
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

/** Limit of refunds per order: bounds the size of its record. */
const MAX_REFUNDS = 100
const MAX_RESTOCKED = 200

/** POST /orders/{id}/refunds; without an amount it refunds all that is left of the payment. */
export const RefundInput = z.strictObject({
  amount: Money.nullish(),
  /** Default: the payment that carries the order. */
  provider_payment_id: boundedText(100).nullish(),
  restock: z
    .array(z.strictObject({ catalog_item_id: Id, quantity: Quantity }).meta({ id: 'StockQuantityInput' }))
    .max(MAX_RESTOCKED)
    .nullish(),
})

/** The caller chooses the refund id: a repeated request must carry the same one. */
export const RequestRefundInput = RefundInput.extend({
  id: Id,
  refund_id: z.uuid(),
  /** Key of the request; one key of a caller identifies one refund. */
  idempotency_key: z.string(),
  caller: KeyCaller,
})
export type RequestRefundInput = z.infer<typeof RequestRefundInput>

/**
 * Records a requested refund before the provider is called. Pending amounts are reserved, so that refunds never exceed
 * the payment. Repeating it changes nothing: the provider is called again with the same refund id and
 * refunds once.
 */
export const requestRefund = command<RequestRefundInput>({
  permission: 'refund_orders',
  needs: ({ id, caller, idempotency_key }) => [orderById(id), paymentByKey(caller, idempotency_key)],
  needsMore: (rows, input) => [
    ...keyHolderRefs(rows, input),
    ...(input.restock ?? []).map(({ catalog_item_id }) => stockById(catalog_item_id)),
  ],
  decide(rows, input, { recordedAt: now }) {
    const { id, refund_id, caller, idempotency_key } = input
    const order = rows.get(orderById(id))
    if (!order) return refuse('not_found')
    const known = order.doc.refunds.find((refund) => refund.refund_id === refund_id)
    if (known && known.status !== 'refused') return accept('unchanged', `order/${id}`)
    if (isKeyTaken(rows, { caller, idempotency_key, attempt_id: refund_id }, now))
      return refuse('idempotency_key_reuse')
    const payment = refundable(order, input.provider_payment_id ?? null)
    if (!payment) return refuse('order_not_paid')
    const left = refundableCents(payment, order.doc)
    const cents = input.amount ? toCents(input.amount) : left
    if (left === 0) return refuseField('amount', 'todo o valor já foi estornado ou está em processamento')
    if (cents === 0) return refuseField('amount', 'deve ser maior que zero')
    if (cents > left)
      return refuseField('amount', `deve ser no máximo ${fromCents(left)}, o que ainda não foi estornado`)
    if (!known && order.doc.refunds.length >= MAX_REFUNDS)
      return refuseField('refunds', `o pedido já tem ${MAX_REFUNDS} estornos`)
    const restock = restockOf(rows, order, input.restock ?? [])
    if (isRefusal(restock)) return restock
    const requested = event('OrderRefundRequested', {
      id,
      refund_id,
      idempotency_key,
      provider_payment_id: payment.provider_payment_id,
      amount: fromCents(cents),
      restock,
    })
    return accept('created', requested.subject, [requested])
  },
})

/** Paid payment that can be refunded. */
export type PaidPayment = PaymentObject & { readonly provider_payment_id: string }

export const isPaid = (payment: PaymentObject | null | undefined): payment is PaidPayment =>
  payment?.status === 'paid' && payment.provider_payment_id !== null

function refundable({ doc, carrying_payment_id }: Readonly<OrderRow>, named: string | null): PaidPayment | null {
  const payment =
    named === null
      ? findCarrier(doc.payments, carrying_payment_id)
      : doc.payments.find(({ provider_payment_id }) => provider_payment_id === named)
  return isPaid(payment) ? payment : null
}

/**
 * Refundable amount in cents: neither refunded, nor pending, nor kept as store credit. The provider's record may lag
 * behind its responses, so the larger sum counts.
 */
export function refundableCents(
  payment: PaidPayment,
  { refunds, surplus_credit: kept }: Pick<OrderObject, 'refunds' | 'surplus_credit'>,
): number {
  const sum = (status: RefundObject['status']) =>
    refunds
      .filter((refund) => refund.provider_payment_id === payment.provider_payment_id && refund.status === status)
      .reduce((cents, { amount }) => cents + toCents(amount), 0)
  const returned = Math.max(toCents(payment.refunded), sum('completed'))
  const credited = kept?.provider_payment_id === payment.provider_payment_id ? toCents(kept.amount) : 0
  return Math.max(0, toCents(payment.amount) - returned - sum('pending') - credited)
}

type Restock = RefundObject['restock']

/**
 * Quantity of an item that may return to stock and is not about to, in thousandths: of what the sale took, or of what was
 * ordered if the service registered no sale.
 */
export function leftToRestock(
  { items, refunds, goods_out }: Pick<OrderObject, 'items' | 'refunds' | 'goods_out'>,
  itemId: number,
): number {
  const isCounted = ({ status }: RefundObject) => (goods_out === null ? status !== 'refused' : status === 'pending')
  const back = refunds.filter(isCounted).flatMap(({ restock }) => restock)
  return Math.max(0, sumQuantity(goods_out ?? items, itemId) - sumQuantity(back, itemId))
}

/** Checks returned goods: items of the order, at most the ordered quantity, with tracked stock. */
function restockOf(rows: Rows, { doc }: Readonly<OrderRow>, requested: Restock): Restock | Refusal {
  for (const [index, { catalog_item_id }] of requested.entries()) {
    if (sumQuantity(doc.items, catalog_item_id) === 0)
      return refuseField(`restock[${index}].catalog_item_id`, 'o pedido não tem este item')
    if (getStock(rows, catalog_item_id) === null)
      return refuseField(`restock[${index}].catalog_item_id`, 'o item não tem controle de estoque')
    const left = leftToRestock(doc, catalog_item_id)
    if (sumQuantity(requested, catalog_item_id) > left)
      return refuseField(`restock[${index}].quantity`, `deve somar no máximo ${fromThousandths(left)}`)
  }
  return requested.map(({ catalog_item_id, quantity }) => ({
    catalog_item_id,
    quantity: fromThousandths(toThousandths(quantity)),
  }))
}

export const RefuseRefundInput = z.strictObject({ id: Id, refund_id: z.uuid(), reason: boundedText(500) })
export type RefuseRefundInput = z.infer<typeof RefuseRefundInput>

/** Records that the provider rejected the refund. */
export const refuseRefund = command<RefuseRefundInput>({
  needs: ({ id }) => [orderById(id)],
  decide(rows, { id, refund_id, reason }) {
    const refund = findRefund(rows, id, refund_id)
    if (!refund) return refuse('not_found')
    if (refund.status !== 'pending') return accept('unchanged', `order/${id}`)
    return accept('updated', `order/${id}`, [event('OrderRefundRefused', { id, refund_id, reason })])
  },
})

export const CompleteRefundInput = z.strictObject({ id: Id, refund_id: z.uuid(), provider_refund_id: boundedText(100) })
export type CompleteRefundInput = z.infer<typeof CompleteRefundInput>

/**
 * Records that the provider completed the refund, and returns its goods to stock. A second request changes
 * nothing.
 */
export const completeRefund = command<CompleteRefundInput>({
  needs: ({ id }) => [orderById(id)],
  needsMore: (rows, { id }) => restockRefs(rows.get(orderById(id))),
  decide(rows, { id, refund_id, provider_refund_id }) {
    const refund = findRefund(rows, id, refund_id)
    if (!refund) return refuse('not_found')
    if (refund.status === 'completed') return accept('unchanged', `order/${id}`)
    return accept('updated', `order/${id}`, [
      event('OrderRefundCompleted', { id, refund_id, provider_refund_id }),
      ...stockReturned(rows, (rows.get(orderById(id)) as OrderRow).doc, [refund]),
    ])
  },
})

export const findRefund = (rows: Rows, orderId: number, refundId: string): RefundObject | undefined =>
  rows.get(orderById(orderId))?.doc.refunds.find(({ refund_id }) => refund_id === refundId)

/** Rows of goods that may return with refunds of an order: of its sale, and of their stock. */
export const restockRefs = (order: Readonly<OrderRow> | null): AnyRef[] =>
  (order?.doc.refunds ?? [])
    .filter(({ status, restock }) => status !== 'completed' && restock.length > 0)
    .flatMap(({ restock }) => restock.map(({ catalog_item_id }) => stockById(catalog_item_id) as AnyRef))
    .concat(order?.doc.sale_id == null ? [] : [saleById(order.doc.sale_id)])

/**
 * Stock and sale after refunds that complete. Items without tracked stock are skipped. No more returns than went out,
 * also if goods of a refund returned with another one, because this one was refused at first.
 */
export function stockReturned(rows: Rows, doc: OrderObject, completed: readonly RefundObject[]): NewEvent[] {
  const lines = completed.flatMap(({ restock }) => restock)
  const others = { ...doc, refunds: doc.refunds.filter((refund) => !completed.includes(refund)) }
  const moves = [...new Set(lines.map(({ catalog_item_id }) => catalog_item_id))].flatMap((id) => {
    const [quantity, before] = [Math.min(sumQuantity(lines, id), leftToRestock(others, id)), getStock(rows, id)]
    return quantity === 0 || before === null ? [] : [{ id, quantity, before }]
  })
  const sale = doc.sale_id === null ? null : rows.get(saleById(doc.sale_id))
  return [
    ...moves.map(({ id, quantity, before }) => {
      const after = fromThousandths(Math.min(toThousandths(before) + quantity, MAX_THOUSANDTHS))
      return event('StockAdjusted', { id, reason: 'return', before, after, order_id: doc.id })
    }),
    ...(sale ? saleRestocked(sale.id, doc.id, toReturnableSale(sale), moves) : []),
  ]
}

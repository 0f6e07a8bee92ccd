import * as z from 'zod'
import { fromCents, toCents } from '#domain/money.ts'
import {
  classifyReport,
  decideOrderStatus,
  disputeAfter,
  findCarrier,
  hasBeenPaid,
  isPending,
  type OrderStatus,
  type PaymentState,
  readStatus,
  splitCommission,
} from '#domain/order-states.ts'
import type { SalePaymentDetails } from '#domain/payment-rules.ts'
import { refuse } from '#domain/refusals.ts'
import { boundedText, Id, limitedText } from '#domain/text.ts'
import { type DataOf, EVENT_TYPES, event } from '#events/catalogue.ts'
import { accept, command, type NewEvent } from '#ledger/command.ts'
import { ownCompany } from '#projections/companies.ts'
import { type PaymentObject, paymentRecorded } from '#projections/order-payments.ts'
import { type OrderRow, orderById } from '#projections/orders.ts'
import { storeById } from '#projections/stores.ts'
import { restockRefs } from './order-attempts.ts'
import { chargeRefs, receiptFollows } from './order-charge.ts'
import { orderSaleRefs, saleFollows } from './order-commands.ts'
import { ListedRefunds, settleListedRefunds } from './order-settlement.ts'
import { proofRefs, sameProofRefs } from './register-sale.ts'

/** Payment as reported by the provider. The caller has checked its order and amount. */
export const RecordPaymentInput = z.strictObject({
  id: Id,
  /** Attempt that the payment refers to; null if it refers to none. */
  attempt_id: z.uuid().nullable(),
  provider_payment_id: boundedText(100),
  provider_status: boundedText(100),
  status_detail: boundedText(200).nullable(),
  live_mode: z.boolean(),
  ...EVENT_TYPES.PaymentRecorded.data.pick({
    pix: true,
    boleto: true,
    card: true,
    refunded: true,
    changed_at: true,
    expires_at: true,
  }).shape,
  /** Of a paid Pix, if the provider tells it. */
  end_to_end_id: limitedText(35)
    .regex(/^[A-Za-z0-9]{1,35}$/)
    .optional(),
  /** All refunds of the payment; absent if not reported. */
  refunds: ListedRefunds.optional(),
})
export type RecordPaymentInput = z.infer<typeof RecordPaymentInput>

type Recorded = DataOf<'PaymentRecorded'>
type Payments = readonly PaymentObject[]

/**
 * Records the provider's state of a payment if it is a move forward, and updates the order. Anything else, including an
 * unknown status, changes nothing. An unknown payment is adopted.
 */
export const recordPayment = command<RecordPaymentInput>({
  needs: ({ id }) => [ownCompany, orderById(id)],
  needsMore: (rows, { id, end_to_end_id }) => {
    const order = rows.get(orderById(id))
    if (!order) return []
    const proofs = proofRefs(proofsOf(end_to_end_id))
    return [
      storeById(order.store_id),
      ...restockRefs(order),
      ...(order.receivable_id === null ? orderSaleRefs(rows, order) : chargeRefs(rows, order)),
      ...proofs,
    ]
  },
  needsLast: (rows, { id, end_to_end_id }) =>
    rows.get(orderById(id)) ? sameProofRefs(rows, proofsOf(end_to_end_id)) : [],
  decide(rows, input, context) {
    const { now, recordedAt } = context
    const { id, provider_payment_id, attempt_id } = input
    const order = rows.get(orderById(id))
    if (!order) return refuse('not_found')
    const { payments, total } = order.doc
    const known = payments.find((payment) => payment.provider_payment_id === provider_payment_id) ?? null
    const attempt = attemptBehind(payments, known, attempt_id)
    const before = known && toRecordedState(known)
    const reported = toReportedState(input, total)
    const isMove = reported !== null && classifyReport(before, reported) === 'applied'
    // A newly found attempt is recorded even if the status is not new.
    const isFound = known !== null && attempt !== null && attempt !== known
    const isWhollyRefunded = input.provider_status === 'refunded'
    const settled = settleListedRefunds(rows, order, provider_payment_id, input.refunds ?? [], isWhollyRefunded)
    if (!isMove && !isFound) return accept(settled.length > 0 ? 'updated' : 'unchanged', `order/${id}`, settled)
    const store = rows.get(storeById(order.store_id))
    if (!store) throw new Error(`order ${id}: store ${order.store_id} not found`)
    const recorded: Recorded = {
      id,
      provider_payment_id,
      attempt_id: attempt?.attempt_id ?? null,
      commission_percentage: (attempt ?? known ?? store.doc).commission_percentage,
      ...(isMove ? newState(input, reported, before) : stateOf(known as PaymentObject)),
      ...newDetails(input, known, reported?.status ?? null),
      ...newExpiry(input, attempt ?? known, Date.parse(now) - Date.parse(recordedAt)),
    }
    const after = paymentRecorded(payments, recorded, total, { at: now, timezone: 'UTC' })
    return accept('updated', `order/${id}`, [
      // Before the payment's own events: their webhooks show refunds as they are now.
      ...settled,
      event('PaymentRecorded', recorded),
      ...orderFollows(order, after, recorded, {
        now,
        sale: (isPaid) =>
          order.receivable_id === null
            ? saleFollows(
                rows,
                order,
                { after, provider_payment_id, isPaid, earlier: settled, proofs: proofsOf(input.end_to_end_id) },
                context,
              )
            : receiptFollows(rows, order, { after, provider_payment_id, isPaid }, now),
      }),
    ])
  },
})

/** What identifies the payment's transaction; nothing if it is not known. */
const proofsOf = (end_to_end_id: string | undefined): readonly SalePaymentDetails[] =>
  end_to_end_id === undefined ? [] : [{ end_to_end_id }]

/** Payment details that are new. Pix and boleto details are only of use while the payment is pending. */
function newDetails(
  { pix, boleto, card }: Pick<Recorded, 'pix' | 'boleto' | 'card'>,
  known: PaymentObject | null,
  status: OrderStatus | null,
): Pick<Recorded, 'pix' | 'boleto' | 'card'> {
  const isWaiting = status === 'pending'
  return {
    ...(pix && isWaiting && !known?.pix ? { pix } : {}),
    ...(boleto && isWaiting && !known?.boleto ? { boleto } : {}),
    ...(card && !known?.card?.last_four ? { card } : {}),
  }
}

/**
 * The provider's deadline of a pending payment, on the company's clock, which may be `ahead_ms`. Shorter differences
 * are the time that the call took.
 */
function newExpiry(
  { provider_status, expires_at }: Pick<RecordPaymentInput, 'provider_status' | 'expires_at'>,
  known: PaymentObject | null,
  ahead_ms: number,
): Pick<Recorded, 'expires_at'> {
  if (expires_at === undefined || !known?.expires_at || !isPending(provider_status)) return {}
  const deadline = Date.parse(expires_at) + ahead_ms
  const isSame = Math.abs(deadline - Date.parse(known.expires_at)) < SAME_DEADLINE_MS
  return isSame ? {} : { expires_at: new Date(deadline).toISOString() }
}

const SAME_DEADLINE_MS = 10_000

/** Recorded state of a payment, in the form that `classifyReport` takes. */
export const toRecordedState = ({ status, dispute, refunded, provider_updated_at }: PaymentObject): PaymentState => ({
  status,
  dispute: dispute?.status ?? null,
  refundedCents: toCents(refunded),
  changedAt: provider_updated_at === null ? null : Date.parse(provider_updated_at),
})

/** Reported state of a payment, in the form that `classifyReport` takes; null for an unknown status. */
export function toReportedState(
  { provider_status, status_detail, refunded, changed_at }: RecordPaymentInput,
  total: string,
): PaymentState | null {
  const read = readStatus(provider_status, status_detail)
  if (!read) return null
  // A full refund may come without an amount: nothing is left of a payment that was refunded.
  const refundedCents = toCents(read.status === 'refunded' ? total : (refunded ?? '0.00'))
  return { ...read, refundedCents, changedAt: changed_at === undefined ? null : Date.parse(changed_at) }
}

type StateFields = Pick<
  Recorded,
  'provider_status' | 'status_detail' | 'status' | 'live_mode' | 'refunded' | 'dispute' | 'changed_at'
>

/** Event fields of a payment's new state. */
function newState(input: RecordPaymentInput, reported: PaymentState, before: PaymentState | null): StateFields {
  const { provider_status, status_detail, live_mode, changed_at } = input
  const dispute = disputeAfter(before, reported)
  return {
    provider_status,
    status_detail,
    status: reported.status,
    live_mode,
    ...(reported.refundedCents > 0 && reported.status === 'paid' && { refunded: fromCents(reported.refundedCents) }),
    ...(dispute && { dispute }),
    ...(changed_at !== undefined && { changed_at }),
  }
}

/** Event fields of a payment's recorded state. */
function stateOf(payment: PaymentObject): StateFields {
  const { provider_status, provider_status_detail: status_detail, status, live_mode } = payment
  if (provider_status === null || live_mode === null)
    throw new Error('record payment: recorded payment lacks provider status or live mode')
  const { refunded, dispute, provider_updated_at } = payment
  return {
    provider_status,
    status_detail,
    status,
    live_mode,
    ...(toCents(refunded) > 0 && status === 'paid' && { refunded }),
    ...(dispute && { dispute: dispute.status }),
    ...(provider_updated_at !== null && { changed_at: new Date(provider_updated_at).toISOString() }),
  }
}

/**
 * Attempt that made a payment: the known one, or the one that the payment names if that has no other payment. A payment
 * that names none belongs to the pending attempt, if there is exactly one.
 */
function attemptBehind(payments: Payments, known: PaymentObject | null, named: string | null): PaymentObject | null {
  if (known?.attempt_id) return known
  const open = payments.filter((payment) => payment.provider_payment_id === null)
  if (named !== null) return open.find((payment) => payment.attempt_id === named) ?? null
  const waiting = open.filter((payment) => payment.refusal === null)
  return known === null && waiting.length === 1 ? (waiting[0] ?? null) : null
}

const MOVES = {
  pending: 'OrderPending',
  paid: 'OrderPaid',
  failed: 'OrderFailed',
  cancelled: 'OrderCancelled',
  refunded: 'OrderRefunded',
} as const

/** Events of the order: an alarm, the commission, its sale, and its change of status. */
function orderFollows(
  order: Readonly<OrderRow>,
  after: Payments,
  recorded: Recorded,
  { now, sale }: { readonly now: string; sale(isPaid: boolean): NewEvent[] },
): NewEvent[] {
  const { id, provider_payment_id } = recorded
  const isNewMoney =
    recorded.status === 'paid' &&
    !order.doc.payments.some((payment) => isSame(payment, recorded) && hasBeenPaid([payment]))
  const alarm = isNewMoney && alarmOf(order)
  const events = alarm ? [event('OrderAlarmRaised', { id, provider_payment_id, code: alarm })] : []
  const status = decideOrderStatus(after, order.doc.cancelled_at !== null)
  // Before the order's own event: its webhook already shows the commission and the sale.
  events.push(...commissionFollows(order, after), ...sale(status === 'paid'))
  const refunded = refundedOf(after, recorded)
  if (status !== order.status) {
    const move = status === 'cancelled' && isExpired(after, recorded, now) ? 'OrderExpired' : MOVES[status]
    events.push(event(move, { id, provider_payment_id }))
  } else if (status === 'paid' && refunded > refundedOf(order.doc.payments, recorded))
    events.push(event('OrderPartiallyRefunded', { id, provider_payment_id, refunded: fromCents(refunded) }))
  return events
}

/** Whether the payment expired: the provider reports it, or its deadline has passed. */
const isExpired = (after: Payments, recorded: Recorded, now: string): boolean =>
  recorded.status_detail === 'expired' ||
  after.some(
    (payment) =>
      isSame(payment, recorded) && payment.expires_at !== null && Date.parse(payment.expires_at) <= Date.parse(now),
  )

/** Commission of the payment that now carries the order. */
function commissionFollows({ doc, carrying_payment_id }: Readonly<OrderRow>, after: Payments): NewEvent[] {
  const { id } = doc
  const carrier = findCarrier(after, carrying_payment_id)
  const carriedBy = carrier?.provider_payment_id ?? null
  if (carriedBy === carrying_payment_id) return []
  const reversed =
    carrying_payment_id === null ? [] : [event('CommissionReversed', { id, provider_payment_id: carrying_payment_id })]
  if (!carrier || carriedBy === null) return reversed
  const split = splitCommission(carrier.amount, carrier.commission_percentage)
  return [...reversed, event('CommissionSplit', { id, provider_payment_id: carriedBy, ...split })]
}

/** Alarm code if the order does not expect this money; null if it does. */
function alarmOf({ status, doc }: Readonly<OrderRow>): DataOf<'OrderAlarmRaised'>['code'] | null {
  if (status === 'paid') return 'second_payment'
  if (hasBeenPaid(doc.payments)) return 'paid_after_refund'
  return doc.cancelled_at === null ? null : 'paid_after_cancellation'
}

const refundedOf = (payments: Payments, recorded: Recorded): number =>
  payments.reduce((sum, payment) => (isSame(payment, recorded) ? sum + toCents(payment.refunded) : sum), 0)

const isSame = (payment: PaymentObject, { provider_payment_id }: Recorded): boolean =>
  payment.provider_payment_id === provider_payment_id

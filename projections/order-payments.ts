import { dateInZone, inZone } from '#domain/instant.ts'
import { fromCents, toCents } from '#domain/money.ts'
import { type DisputeStatus, hasBeenPaid, type OrderStatus } from '#domain/order-states.ts'
import { type OnlineMethod, stateInPortuguese, toOnlineMethod } from '#domain/payment-rules.ts'
import type { DataOf } from '#events/catalogue.ts'
import { byPk, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyRef } from './companies.ts'
import { projection } from './define-projection.ts'

type Recorded = DataOf<'PaymentRecorded'>

/**
 * Payment attempt of an order and its result, as the API returns it. Fields of the provider are null until it reports a
 * payment.
 */
export interface PaymentObject {
  /** Null for a payment that was not made by a known attempt. */
  attempt_id: string | null
  /** Null without a known attempt. */
  method: OnlineMethod | null
  provider_payment_id: string | null
  /** Status and detail in the provider's terms. */
  provider_status: string | null
  provider_status_detail: string | null
  /** Own status. An attempt that the provider refused is `failed`, and does not change the order. */
  status: OrderStatus
  /** In Portuguese. */
  status_detail: string | null
  payment_method_id: string | null
  amount: string
  /** Refunded so far. */
  refunded: string
  dispute: DisputeObject | null
  commission_percentage: string
  /** Payment deadline; null for cards. */
  expires_at: string | null
  /** Payment details of a Pix or boleto; null unless the payment is pending. */
  pix: (NonNullable<Recorded['pix']> & { expires_at: string | null }) | null
  boleto: (NonNullable<Recorded['boleto']> & { due_on: string | null }) | null
  card: { last_four: string | null; brand: string; installments: number | null } | null
  live_mode: boolean | null
  /** Last change at the provider, if it reports one. */
  provider_updated_at: string | null
  /** Reason why the provider made no payment; null otherwise. */
  refusal: string | null
  started_at: string
  updated_at: string
}

/** Buyer's claim against a payment. */
export interface DisputeObject {
  status: DisputeStatus
  since: string
}

type Payments = readonly PaymentObject[]

/** Whether the payment may still be made: pending at the provider, or without an answer. */
export const isPaymentOpen = ({ status, refusal }: PaymentObject): boolean => status === 'pending' && refusal === null

/** Earliest deadline of a pending payment, in UTC; null if none has one. */
export function nextExpiry(payments: Payments): string | null {
  const ends = payments.filter(isPaymentOpen).flatMap(({ expires_at }) => expires_at ?? [])
  return ends.map((at) => new Date(at).toISOString()).sort()[0] ?? null
}

/** Time of an event about an order, and the zone in which it is shown. */
export interface PaymentMoment {
  readonly at: string
  readonly timezone: string
}

/** A refused attempt that starts again becomes the latest. */
export function startAttempt(
  payments: Payments,
  data: DataOf<'PaymentStarted'>,
  { at, timezone }: PaymentMoment,
): PaymentObject[] {
  const { attempt_id, payment_method_id, amount, commission_percentage, installments = 1, expires_at } = data
  const method = toOnlineMethod(payment_method_id)
  const started: PaymentObject = {
    attempt_id,
    method,
    provider_payment_id: null,
    provider_status: null,
    provider_status_detail: null,
    status: 'pending',
    status_detail: null,
    payment_method_id,
    amount,
    refunded: '0.00',
    dispute: null,
    commission_percentage,
    expires_at: expires_at === undefined ? null : inZone(expires_at, timezone),
    pix: null,
    boleto: null,
    card: method === 'card' ? { last_four: null, brand: payment_method_id, installments } : null,
    live_mode: null,
    provider_updated_at: null,
    refusal: null,
    started_at: at,
    updated_at: at,
  }
  return [...payments.filter((payment) => payment.attempt_id !== attempt_id), started]
}

export function refuseAttempt(payments: Payments, data: DataOf<'PaymentRefused'>, at: string): PaymentObject[] {
  return payments.map((payment) =>
    payment.attempt_id === data.attempt_id
      ? { ...payment, status: 'failed', refusal: data.reason, updated_at: at }
      : payment,
  )
}

/** Replaces the known payment and the attempt that made it. */
export function paymentRecorded(
  payments: Payments,
  data: Recorded,
  total: string,
  { at, timezone }: PaymentMoment,
): PaymentObject[] {
  const { attempt_id, provider_payment_id, provider_status, status_detail, status, live_mode, changed_at } = data
  const attempt = payments.find((payment) => attempt_id !== null && payment.attempt_id === attempt_id)
  const known = payments.find((payment) => payment.provider_payment_id === provider_payment_id)
  const before = attempt ?? known
  const expires_at = data.expires_at === undefined ? (before?.expires_at ?? null) : inZone(data.expires_at, timezone)
  const recorded: PaymentObject = {
    attempt_id,
    method: before?.method ?? null,
    provider_payment_id,
    provider_status,
    provider_status_detail: status_detail,
    status,
    status_detail: stateInPortuguese(provider_status, status_detail),
    payment_method_id: before?.payment_method_id ?? null,
    amount: total,
    // A refunded payment has nothing left, even if the provider omits the amount.
    refunded: status === 'refunded' ? total : (data.refunded ?? '0.00'),
    dispute: disputeOf(data, known, at),
    commission_percentage: data.commission_percentage,
    expires_at,
    ...detailsOf(data, before, known, { expires_at, timezone }),
    live_mode,
    provider_updated_at: changed_at === undefined ? null : inZone(changed_at, timezone),
    refusal: null,
    started_at: before?.started_at ?? at,
    updated_at: at,
  }
  if (!before) return [...payments, recorded]
  return payments.flatMap((payment) => {
    if (payment === before) return [recorded]
    return payment === known ? [] : [payment]
  })
}

function disputeOf({ dispute }: Recorded, known: PaymentObject | undefined, since: string): DisputeObject | null {
  if (dispute === undefined) return null
  return known?.dispute?.status === dispute ? known.dispute : { status: dispute, since }
}

function detailsOf(
  { status, pix, boleto, card }: Recorded,
  before: PaymentObject | undefined,
  known: PaymentObject | undefined,
  { expires_at, timezone }: Pick<PaymentObject, 'expires_at'> & { readonly timezone: string },
): Pick<PaymentObject, 'pix' | 'boleto' | 'card'> {
  const due_on = expires_at === null ? null : dateInZone(new Date(expires_at).toISOString(), timezone)
  const isWaiting = status === 'pending'
  const brand = before?.card?.brand
  return {
    pix: isWaiting ? (pix ? { ...pix, expires_at } : (known?.pix ?? null)) : null,
    boleto: isWaiting ? (boleto ? { ...boleto, due_on } : (known?.boleto ?? null)) : null,
    card: card && brand !== undefined ? { ...card, brand } : (before?.card ?? null),
  }
}

interface PaidOrder {
  readonly total: string
  readonly payments: readonly PaymentObject[]
}

/**
 * What a paid order leaves the shop after refunds, before the commission. A second payment that was given back returns
 * nothing of the order.
 */
export function netOfOrder({ total, payments }: PaidOrder): string {
  if (!hasBeenPaid(payments)) return total
  const isCharged = ({ status }: PaymentObject) => status === 'paid' || status === 'refunded'
  const left = payments.filter(isCharged).map(({ amount, refunded }) => toCents(amount) - toCents(refunded))
  const sum = left.reduce((all, cents) => all + cents, 0)
  return fromCents(Math.min(sum, toCents(total)))
}

/** What was paid for an order: its net and all that went back. */
export const sumPaid = (order: PaidOrder): string =>
  fromCents(order.payments.reduce((sum, { refunded }) => sum + toCents(refunded), toCents(netOfOrder(order))))

/** `pending`: no final answer of the provider yet, or still in process there. */
export const REFUND_STATUSES = ['pending', 'completed', 'refused'] as const
export type RefundStatus = (typeof REFUND_STATUSES)[number]

/** Requested refund of an order and its result, as the API returns it. */
export interface RefundObject {
  refund_id: string
  provider_payment_id: string
  /** Null until the provider takes the refund. */
  provider_refund_id: string | null
  amount: string
  status: RefundStatus
  /** Reason why the provider refused; null otherwise. */
  refusal: string | null
  restock: { catalog_item_id: number; quantity: string }[]
  requested_at: string
  completed_at: string | null
}

type Refunds = readonly RefundObject[]

/** A refused refund that starts again becomes the latest. */
export function refundRequested(refunds: Refunds, data: DataOf<'OrderRefundRequested'>, at: string): RefundObject[] {
  const { refund_id, provider_payment_id, amount, restock } = data
  const requested: RefundObject = {
    refund_id,
    provider_payment_id,
    provider_refund_id: null,
    amount,
    status: 'pending',
    refusal: null,
    restock,
    requested_at: at,
    completed_at: null,
  }
  return [...refunds.filter((refund) => refund.refund_id !== refund_id), requested]
}

export const refundRefused = (refunds: Refunds, data: DataOf<'OrderRefundRefused'>): RefundObject[] =>
  refunds.map((refund) =>
    refund.refund_id === data.refund_id ? { ...refund, status: 'refused', refusal: data.reason } : refund,
  )

export const refundAccepted = (refunds: Refunds, data: DataOf<'OrderRefundAccepted'>): RefundObject[] =>
  refunds.map((refund) =>
    refund.refund_id === data.refund_id
      ? { ...refund, status: 'pending', provider_refund_id: data.provider_refund_id, refusal: null }
      : refund,
  )

export const refundCompleted = (refunds: Refunds, data: DataOf<'OrderRefundCompleted'>, at: string): RefundObject[] =>
  refunds.map((refund) =>
    refund.refund_id === data.refund_id
      ? {
          ...refund,
          status: 'completed',
          provider_refund_id: data.provider_refund_id,
          refusal: null,
          completed_at: at,
        }
      : refund,
  )

/** Latest attempt or refund under an Idempotency-Key of a caller, across all orders. */
export interface PaymentKeyRow {
  company_id: number
  /** Actor of the event; '' for the service itself. */
  caller: string
  idempotency_key: string
  order_id: number
  /** Id of the attempt or refund. */
  attempt_id: string
  started_at: string
}

const paymentKeys = table<PaymentKeyRow>('payment_keys', {
  about: 'Latest attempt or refund of orders under each Idempotency-Key.',
  columns: {
    company_id: 'bigint',
    caller: 'text',
    idempotency_key: 'text',
    order_id: 'bigint',
    attempt_id: 'text',
    started_at: 'timestamptz',
  },
  keys: { pk: ['company_id', 'caller', 'idempotency_key'] },
})

export const paymentByKey = (caller: string | null | undefined, key: string) => byPk(paymentKeys, caller ?? '', key)

function putKey(rows: Changes, row: Omit<PaymentKeyRow, 'company_id'>): void {
  rows.put(paymentKeys, { company_id: companyRef(rows).company_id, ...row })
}

export const paymentKeysProjection = projection('payment_keys', [paymentKeys], {
  PaymentStarted: {
    refs: ({ actor, data: { idempotency_key: key } }) => (key === null ? [] : [paymentByKey(actor, key)]),
    apply(rows, { actor, data: { id: order_id, idempotency_key, attempt_id }, recorded_at: started_at }) {
      if (idempotency_key !== null)
        putKey(rows, { caller: actor ?? '', idempotency_key, order_id, attempt_id, started_at })
    },
  },
  OrderRefundRequested: {
    refs: ({ actor, data: { idempotency_key } }) => [paymentByKey(actor, idempotency_key)],
    apply(rows, { actor, data: { id: order_id, idempotency_key, refund_id }, recorded_at: started_at }) {
      putKey(rows, { caller: actor ?? '', idempotency_key, order_id, attempt_id: refund_id, started_at })
    },
  },
})

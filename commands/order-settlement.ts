import * as z from 'zod'
import { Money, toCents } from '#domain/money.ts'
import { refuse } from '#domain/refusals.ts'
import { boundedText, Id } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command, type NewEvent } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { REFUND_STATUSES, type RefundObject } from '#projections/order-payments.ts'
import { type OrderRow, orderById } from '#projections/orders.ts'
import { findRefund, isPaid, refundableCents, restockRefs, stockReturned } from './order-attempts.ts'

/** Limit of refunds that a payment may list at the provider. */
const MAX_LISTED_REFUNDS = 500

/** Refunds of a payment as the provider lists them, those of its own site included. */
export const ListedRefunds = z
  .array(z.strictObject({ id: boundedText(100), amount: Money, status: z.enum(REFUND_STATUSES) }))
  .max(MAX_LISTED_REFUNDS)
type ListedRefund = z.infer<typeof ListedRefunds>[number]

/** Longest that a call for a refund may be under way; a call ends within seconds. */
const UNDER_WAY_MS = 60_000

/** An accepted refund that the provider rejected later (PAY-27). */
const REJECTED = 'recusado pelo provedor depois de aceito'
const FOUND_BEFORE = 'um estorno pedido antes, e recusado, foi feito pelo provedor: confira antes de pedir de novo'

/** Whether a refund was requested from the provider, which named none for it yet. */
const isUnanswered = (order: Readonly<OrderRow>, { refund_id, status, provider_refund_id }: RefundObject): boolean =>
  status === 'pending' && provider_refund_id === null && wasPrepared(order, refund_id)

const wasPrepared = ({ refunds_listed }: Readonly<OrderRow>, refundId: string): boolean =>
  refunds_listed?.[refundId] !== undefined

/**
 * Whether a listed refund may be the result of a requested one. The provider does not return our ids with a list, so
 * amount and novelty decide: what was listed before the first call is another refund.
 */
const mayBe = ({ refunds_listed }: Readonly<OrderRow>, refund: RefundObject, listed: ListedRefund): boolean =>
  toCents(listed.amount) === toCents(refund.amount) && refunds_listed?.[refund.refund_id]?.includes(listed.id) === false

const refundsOf = ({ doc }: Readonly<OrderRow>, paymentId: string): RefundObject[] =>
  doc.refunds.filter(({ provider_payment_id }) => provider_payment_id === paymentId)

/** Listed refunds that gave or may still give money back and belong to no requested one. */
const unattributed = (own: readonly RefundObject[], listed: readonly ListedRefund[]): ListedRefund[] =>
  listed.filter(
    ({ id, status }) => status !== 'refused' && !own.some(({ provider_refund_id }) => provider_refund_id === id),
  )

/** Refund that the provider now lists. */
type Match = readonly [refund: RefundObject, listed: ListedRefund]

/** Money of refused refunds that the provider moved after all. */
function lateMatches(
  order: Readonly<OrderRow>,
  own: readonly RefundObject[],
  listed: readonly ListedRefund[],
): Match[] {
  const refused = own.filter(({ status }) => status === 'refused').reverse()
  const matches: Match[] = refused.flatMap((refund) => {
    const changed = listed.find(({ id, status }) => id === refund.provider_refund_id && status === 'completed')
    return changed ? [[refund, changed] as const] : []
  })
  for (const found of unattributed(own, listed)) {
    if (own.some((refund) => isUnanswered(order, refund) && mayBe(order, refund, found))) continue
    const late = refused.find(
      (refund) =>
        refund.provider_refund_id === null && mayBe(order, refund, found) && !matches.some(([each]) => each === refund),
    )
    if (late) matches.push([late, found])
  }
  return matches
}

/** Events of refunds that the provider lists: accepted, or completed with their goods. */
function matched(rows: Rows, order: Readonly<OrderRow>, matches: readonly Match[]): NewEvent[] {
  const { id } = order
  const changes = matches.map(([{ refund_id }, { id: provider_refund_id, status }]) =>
    event(status === 'completed' ? 'OrderRefundCompleted' : 'OrderRefundAccepted', {
      id,
      refund_id,
      provider_refund_id,
    }),
  )
  const completed = matches.filter(([, { status }]) => status === 'completed').map(([refund]) => refund)
  return [...changes, ...stockReturned(rows, order.doc, completed)]
}

/**
 * Events of a payment's refunds, as the provider lists them now: a refund in process is completed or refused, and money
 * of a refused one raises an alarm.
 */
export function settleListedRefunds(
  rows: Rows,
  order: Readonly<OrderRow>,
  paymentId: string,
  listed: readonly ListedRefund[],
  isWhollyRefunded = false,
): NewEvent[] {
  const { id } = order
  const own = refundsOf(order, paymentId)
  const inProcess = own.filter(({ status, provider_refund_id }) => status === 'pending' && provider_refund_id !== null)
  const known = inProcess.flatMap((refund): Match[] => {
    const found = listed.find((each) => each.id === refund.provider_refund_id)
    if (found && found.status !== 'pending') return [[refund, found]]
    const { provider_refund_id, amount } = refund
    // Nothing of the payment is left that could still be in process.
    return isWhollyRefunded && provider_refund_id !== null
      ? [[refund, { id: provider_refund_id, amount, status: 'completed' }]]
      : []
  })
  const refused = known.filter(([, { status }]) => status === 'refused')
  const late = lateMatches(order, own, listed)
  return [
    ...refused.map(([{ refund_id }]) => event('OrderRefundRefused', { id, refund_id, reason: REJECTED })),
    ...late.map(() => event('OrderAlarmRaised', { id, provider_payment_id: paymentId, code: 'refund_after_refusal' })),
    ...matched(rows, order, [...known.filter((match) => !refused.includes(match)), ...late]),
  ]
}

export const SettleRefundInput = z.strictObject({
  id: Id,
  refund_id: z.uuid(),
  listed: ListedRefunds,
  /** The provider's reason if it refused the last call; null if no call was made, or its result is unknown. */
  refusal: boundedText(500).nullable(),
})
export type SettleRefundInput = z.infer<typeof SettleRefundInput>

/**
 * Compares a requested refund with what the provider lists. Before its first call this notes what is listed.
 * Afterwards the refund is found there, or is refused if the provider refused and lists nothing that may be it. If it
 * may be another one's it stays pending.
 */
export const settleRefund = command<SettleRefundInput>({
  needs: ({ id }) => [orderById(id)],
  needsMore: (rows, { id }) => restockRefs(rows.get(orderById(id))),
  decide(rows, { id, refund_id, listed, refusal }, { recordedAt }) {
    const order = rows.get(orderById(id))
    const refund = order && findRefund(rows, id, refund_id)
    if (!order || !refund) return refuse('not_found')
    if (refund.status !== 'pending' || refund.provider_refund_id !== null) return accept('unchanged', `order/${id}`)
    if (!wasPrepared(order, refund_id)) return accept('updated', `order/${id}`, prepared(rows, order, refund, listed))
    const own = refundsOf(order, refund.provider_payment_id)
    const matches = unattributed(own, listed).filter((each) => mayBe(order, refund, each))
    const others = own.filter(
      (other) => other !== refund && isUnanswered(order, other) && matches.some((each) => mayBe(order, other, each)),
    )
    const rivals = others.filter(
      (other) =>
        own.indexOf(other) < own.indexOf(refund) ||
        Date.parse(recordedAt) - Date.parse(other.requested_at) < UNDER_WAY_MS,
    )
    // What no other refund may be is taken first, so that the rest finds its own.
    const claims = (each: ListedRefund) => others.filter((other) => mayBe(order, other, each)).length
    const [found] = matches.toSorted((one, other) => claims(one) - claims(other))
    if (found && matches.length > rivals.length)
      return accept('updated', `order/${id}`, matched(rows, order, [[refund, found]]))
    if (found || refusal === null) return accept('unchanged', `order/${id}`)
    return accept('updated', `order/${id}`, [event('OrderRefundRefused', { id, refund_id, reason: refusal })])
  },
})

/**
 * Events before the first call for a refund. It is refused if money that was told as refused turns out to have gone
 * back: with the same amount it is the same wish, and otherwise there may not be enough left.
 */
function prepared(
  rows: Rows,
  order: Readonly<OrderRow>,
  refund: RefundObject,
  listed: readonly ListedRefund[],
): NewEvent[] {
  const { id, doc } = order
  const { refund_id, provider_payment_id, amount } = refund
  const settled = settleListedRefunds(rows, order, provider_payment_id, listed)
  const late = lateMatches(order, refundsOf(order, provider_payment_id), listed)
  const others = doc.refunds.flatMap((each): RefundObject[] => {
    if (each === refund) return []
    return late.some(([found]) => found === each) ? [{ ...each, status: 'pending' }] : [each]
  })
  const payment = doc.payments.find((each) => each.provider_payment_id === provider_payment_id)
  const isSame = late.some(([found]) => toCents(found.amount) === toCents(amount))
  const isTooMuch =
    late.length > 0 && (!isPaid(payment) || refundableCents(payment, { ...doc, refunds: others }) < toCents(amount))
  if (isSame || isTooMuch)
    return [...settled, event('OrderRefundRefused', { id, refund_id, reason: FOUND_BEFORE })].sort(orderFirst(id))
  return [event('OrderRefundPrepared', { id, refund_id, listed: listed.map((each) => each.id) }), ...settled]
}

/** An answer about an order begins with an event about it; goods come last. */
const orderFirst =
  (id: number) =>
  (one: NewEvent, other: NewEvent): number =>
    Number(one.subject !== `order/${id}`) - Number(other.subject !== `order/${id}`)

export const AcceptRefundInput = z.strictObject({ id: Id, refund_id: z.uuid(), provider_refund_id: boundedText(100) })
export type AcceptRefundInput = z.infer<typeof AcceptRefundInput>

/** Records that the provider took the refund and has not decided yet. A second request changes nothing. */
export const acceptRefund = command<AcceptRefundInput>({
  needs: ({ id }) => [orderById(id)],
  decide(rows, { id, refund_id, provider_refund_id }) {
    const refund = findRefund(rows, id, refund_id)
    if (!refund) return refuse('not_found')
    if (refund.status === 'completed' || refund.provider_refund_id !== null) return accept('unchanged', `order/${id}`)
    return accept('updated', `order/${id}`, [event('OrderRefundAccepted', { id, refund_id, provider_refund_id })])
  },
})

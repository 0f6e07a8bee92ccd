import { createHash } from 'node:crypto'
import type { Refusal } from '#domain/refusal.ts'
import { isRefusal } from '#ledger/command.ts'
import { ownKey } from '#ledger/write/idempotency.ts'
import { asSystem } from '#ledger/write/run.ts'
import { type Payments, payOrder } from '#payments/pay-order.ts'
import { isOpen } from '#projections/order-payments.ts'
import type { OrderObject } from '#projections/orders.ts'

/** Attempts on an order after which its page begins no more, of the 50 that an order may have: the rest is for its shop (PAY-42). */
export const ATTEMPTS_FOR_PAGES = 20

interface Wanted {
  readonly companyId: number
  readonly order: OrderObject
  /** Where the order's customer has none. */
  readonly email: string | null
  readonly requestId: string
}

/** Begins to pay orders by Pix for their buyers. */
export type PayByPix = (wanted: Wanted) => Promise<Refusal | null>

/**
 * Null where an attempt was made, or is there already. The key of an attempt follows from how many are over: as long as one
 * waits, pressing again is the same request, which goes on with it and never begins another (PAY-40). In this process it
 * waits for the answer that is on its way.
 */
export function createPayByPix(payments: Payments): PayByPix {
  const underWay = new Map<string, Promise<Refusal | null>>()

  async function pay({ companyId, order, email, requestId }: Wanted): Promise<Refusal | null> {
    const over = order.payments.filter((payment) => !isOpen(payment)).length
    const key = ownKey(`pagar:${order.provider_reference}:${over}`)
    const answer = await payOrder(payments, {
      acting: asSystem(companyId, requestId),
      // Whatever e-mail is given: there is one attempt.
      idempotency: { key, requestHash: createHash('sha256').update(key).digest('hex') },
      orderId: order.id,
      payment: { method: 'pix', ...(email !== null && { payer: { email } }) },
      onlyIfNoneWaits: true,
    })
    return isRefusal(answer) ? answer : null
  }

  return (wanted) => {
    const { provider_reference } = wanted.order
    const before = underWay.get(provider_reference)
    if (before) return before
    const paying = pay(wanted).finally(() => underWay.delete(provider_reference))
    underWay.set(provider_reference, paying)
    return paying
  }
}

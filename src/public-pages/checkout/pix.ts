import { createHash } from 'node:crypto'
import type { Refusal } from '#domain/refusal.ts'
import { isRefusal } from '#ledger/command.ts'
import { ownKey } from '#ledger/write/idempotency.ts'
import { asSystem } from '#ledger/write/run.ts'
import { type Payments, payOrder } from '#payments/pay-order.ts'
import { isPaymentOpen } from '#projections/order-payments.ts'
import type { OrderObject } from '#projections/orders.ts'

/** Attempts on an order that its page may start; the rest of the 50 is reserved for the shop (PAY-42). */
export const ATTEMPTS_FOR_PAGES = 20

interface PixRequest {
  readonly companyId: number
  readonly order: OrderObject
  /** If the order's customer has none. */
  readonly email: string | null
  readonly requestId: string
}

/** Starts Pix payments for buyers. */
export type PayByPix = (request: PixRequest) => Promise<Refusal | null>

/**
 * Returns null if an attempt was made or exists. The attempt's key derives from the number of finished attempts: while
 * one is pending, pressing again is the same request and never starts another (PAY-40). Within a process it waits for
 * the answer under way.
 */
export function createPayByPix(payments: Payments): PayByPix {
  const underWay = new Map<string, Promise<Refusal | null>>()

  async function pay({ companyId, order, email, requestId }: PixRequest): Promise<Refusal | null> {
    const over = order.payments.filter((payment) => !isPaymentOpen(payment)).length
    const key = ownKey(`pagar:${order.provider_reference}:${over}`)
    const answer = await payOrder(payments, {
      acting: asSystem(companyId, requestId),
      // The e-mail address is not part of the hash: there is one attempt.
      idempotency: { key, requestHash: createHash('sha256').update(key).digest('hex') },
      orderId: order.id,
      payment: { method: 'pix', ...(email !== null && { payer: { email } }) },
      onlyIfNoneWaits: true,
    })
    return isRefusal(answer) ? answer : null
  }

  return (request) => {
    const { provider_reference } = request.order
    const before = underWay.get(provider_reference)
    if (before) return before
    const paying = pay(request).finally(() => underWay.delete(provider_reference))
    underWay.set(provider_reference, paying)
    return paying
  }
}

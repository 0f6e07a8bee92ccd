import { recordPayment } from '../../commands/orders/record-payment.ts'
import type { OrderObject } from '../../projections/orders.ts'
import { invoke, isRefusal } from '../ledger/command.ts'
import type { Writer } from '../ledger/writer.ts'
import { statusOfProvider } from './order-moves.ts'
import { orderReference, type ProviderPayment } from './provider-port.ts'

/** An order as far as a payment must fit it. */
export interface Payable {
  readonly id: number
  readonly totalCents: number
  /** Whether its store takes test payments, and only those. */
  readonly sandbox: boolean
}

/** Whether a payment, as the provider has it, was made for this order, for its amount, and in its store's mode. */
export const isFor = (payment: ProviderPayment, { id, totalCents, sandbox }: Payable): boolean =>
  payment.externalReference === orderReference(id) &&
  payment.amountCents === totalCents &&
  payment.liveMode === !sandbox

/** What a payment's state did to its order: moved it, was known already, came too late, or says nothing that is understood. */
export type TakenOver = 'applied' | 'duplicate' | 'stale' | 'ignored'

/** Statuses of the writer's answer; they never leave this file. */
const CHANGED = 200
const UNCHANGED = 304

/**
 * Takes over a payment that was fetched from the provider and fits its order. `requestId` is null outside of a request.
 * @throws Unavailable
 */
export async function takeOver(
  writer: Writer,
  order: { readonly companyId: number; readonly orderId: number; readonly requestId: string | null },
  payment: ProviderPayment,
): Promise<{ outcome: TakenOver; order: OrderObject }> {
  const input = {
    id: order.orderId,
    attempt_id: payment.attemptId,
    provider_payment_id: payment.id,
    provider_status: payment.status,
    status_detail: payment.statusDetail,
    live_mode: payment.liveMode,
  }
  const answer = await writer.run({
    companyId: order.companyId,
    invocations: [invoke(recordPayment, input)],
    origin: 'system',
    actor: null,
    requestId: order.requestId,
    reply: { status: (outcome) => (outcome === 'unchanged' ? UNCHANGED : CHANGED) },
  })
  if (isRefusal(answer)) throw new Error(`order ${order.orderId} took over no payment: ${answer.refused}`)
  const after = JSON.parse(answer.body) as OrderObject
  return { outcome: answer.status === CHANGED ? 'applied' : whyUnchanged(after, payment), order: after }
}

function whyUnchanged({ payments }: OrderObject, { id, status }: ProviderPayment): TakenOver {
  const told = statusOfProvider(status)
  if (told === null) return 'ignored'
  return payments.some((known) => known.provider_payment_id === id && known.status === told) ? 'duplicate' : 'stale'
}

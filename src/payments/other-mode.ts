import { v5 as uuidv5 } from 'uuid'
import { isPending, readStatus } from '#domain/orders.ts'
import {
  type PaymentProvider,
  type ProviderAccount,
  type ProviderPayment,
  ProviderRefused,
  ProviderUnavailable,
} from './provider-port.ts'

/** Whether a payment is a test of a production store, or a production payment of a test store. */
export const isOfOtherMode = ({ liveMode }: ProviderPayment, { sandbox }: Pick<ProviderAccount, 'sandbox'>): boolean =>
  liveMode === sandbox

export const OTHER_MODE = 'a credencial da loja é de outro ambiente (teste ou produção)'

/**
 * Ends a payment of the other mode at the provider: a pending one is cancelled, a paid one is given back. It must not
 * stay payable, since it would never be recorded (PAY-52). A second call changes nothing.
 * @throws ProviderUnavailable, ProviderMisconfigured: it may still be payable
 */
export async function endOtherMode(
  provider: PaymentProvider,
  account: ProviderAccount,
  payment: ProviderPayment,
): Promise<void> {
  const ended = isPending(payment.status) ? await provider.cancelPayment(account, payment.id) : payment
  if (isPending(ended.status)) throw new ProviderUnavailable('provider did not cancel a payment of the other mode')
  const status = readStatus(ended.status, ended.statusDetail)?.status
  const amountCents = leftOf(ended)
  if (status !== 'paid' || amountCents === 0) return
  const refund = { refundId: uuidv5(payment.id, REFUNDS), paymentId: payment.id, amountCents }
  try {
    await provider.createRefund(account, refund)
  } catch (error) {
    if (!(error instanceof ProviderRefused)) throw error
    // A refund in process may be answered like a refusal.
    const now = await provider.getPayment(account, payment.id)
    if (!now || leftOf(now) > 0) throw new ProviderUnavailable('provider did not give back a payment of the other mode')
  }
}

/** Namespace of the refunds' ids; an arbitrary constant. */
const REFUNDS = '5f6f2f0e-3f57-4c0b-8a6e-0d1b5a4c7e93'

/** Cents that are neither refunded nor being refunded. */
function leftOf({ amountCents, refundedCents, refunds }: ProviderPayment): number {
  const taken = (refunds ?? []).reduce((sum, each) => (each.status === 'refused' ? sum : sum + each.amountCents), 0)
  return Math.max(0, (amountCents ?? 0) - Math.max(taken, refundedCents))
}

import { orderReference, type ProviderPayment } from './provider-port.ts'

/** An order as far as a payment must fit it. */
export interface Payable {
  readonly id: number
  readonly totalCents: number
  /** Whether its store takes test payments, and only those. */
  readonly sandbox: boolean
}

/** Whether a payment, as the provider has it, was made for this order, over its amount, and in its store's mode. */
export const fits = (payment: ProviderPayment, { id, totalCents, sandbox }: Payable): boolean =>
  payment.externalReference === orderReference(id) &&
  payment.amountCents === totalCents &&
  payment.liveMode === !sandbox

import type { ProviderPayment } from './provider-port.ts'

/** An order as far as a payment must fit it. */
export interface Payable {
  readonly reference: string
  readonly totalCents: number
  /** Whether its store takes test payments, and only those. */
  readonly sandbox: boolean
}

/** Whether a payment, as the provider has it, was made for this order, over its amount, and in its store's mode. */
export const fits = (payment: ProviderPayment, { reference, totalCents, sandbox }: Payable): boolean =>
  payment.externalReference === reference && payment.amountCents === totalCents && payment.liveMode === !sandbox

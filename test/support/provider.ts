import { type PaymentProvider, ProviderUnavailable } from '#payments/provider-port.ts'

const nobody = async (): Promise<never> => {
  throw new ProviderUnavailable('this test has no payment provider')
}

/** For tests without payments. */
export const noProvider: PaymentProvider = {
  createPayment: nobody,
  getPayment: nobody,
  cancelPayment: nobody,
  createRefund: nobody,
  getPaymentMethods: nobody,
  getCardOptions: nobody,
  findPayments: nobody,
}

import type { StoreAccess } from '#queries/stores.ts'
import type { PaymentProvider, ProviderAccount } from './provider-port.ts'

/** Provider account of a store. Calls fail without a token. */
export const accountAt = ({ accessToken, sandbox, isTest }: StoreAccess): ProviderAccount => ({
  accessToken: accessToken ?? '',
  sandbox,
  ...(isTest && { isTest }),
})

/** Routes accounts of test companies to the sandbox, and all others to the provider (KIT-40). */
export function withTestsAt(sandbox: PaymentProvider, provider: PaymentProvider): PaymentProvider {
  const of = ({ isTest }: ProviderAccount) => (isTest ? sandbox : provider)
  return {
    createPayment: (account, payment) => of(account).createPayment(account, payment),
    cancelPayment: (account, id) => of(account).cancelPayment(account, id),
    createRefund: (account, refund) => of(account).createRefund(account, refund),
    getPayment: (account, id) => of(account).getPayment(account, id),
    getPaymentMethods: (account) => of(account).getPaymentMethods(account),
    getCardOptions: (account, amountCents, bin) => of(account).getCardOptions(account, amountCents, bin),
    findPayments: (account, orderReference) => of(account).findPayments(account, orderReference),
  }
}

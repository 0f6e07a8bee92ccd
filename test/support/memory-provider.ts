import {
  type NewPayment,
  type NewRefund,
  type PaymentProvider,
  type ProviderAccount,
  type ProviderPayment,
  ProviderRefused,
  ProviderUnavailable,
} from '#payments/provider-port.ts'

/** Behaviour of the provider instead of an ordinary payment; `charge` makes the payment, once per attempt. */
type Twist = (charge: () => ProviderPayment, payment: NewPayment) => ProviderPayment | Promise<ProviderPayment>

/** In-memory payment provider without faults: one payment per attempt. */
export interface MemoryProvider extends PaymentProvider {
  /** Payment calls, with their accounts. */
  readonly calls: (NewPayment & { account: ProviderAccount })[]
  /** Charged payments. */
  readonly payments: ProviderPayment[]
  /** Status of new payments; initially `pending`. */
  status: string
  /** Overrides the next payment call. */
  twist(twist: Twist): void
  /** Refund calls. */
  readonly refundCalls: NewRefund[]
  /** Overrides the next refund call; `give` refunds, once per refund. */
  twistRefund(twist: (give: () => string) => string | Promise<string>): void
}

let lastId = 0

export function createMemoryProvider(): MemoryProvider {
  const byAttempt = new Map<string, ProviderPayment>()
  const twists: Twist[] = []
  const byRefund = new Map<string, string>()
  const refundTwists: ((give: () => string) => string | Promise<string>)[] = []
  const provider: MemoryProvider = {
    calls: [],
    payments: [],
    status: 'pending',
    twist: (twist) => twists.push(twist),
    refundCalls: [],
    twistRefund: (twist) => refundTwists.push(twist),
    async createPayment(account, payment) {
      provider.calls.push({ ...payment, account })
      const charge = () => {
        const known = byAttempt.get(payment.attemptId)
        if (known) return known
        const made: ProviderPayment = {
          id: String(1_000_000 + ++lastId),
          status: provider.status,
          statusDetail: null,
          externalReference: payment.orderReference,
          attemptId: payment.attemptId,
          amountCents: payment.amountCents,
          liveMode: !account.sandbox,
          refundedCents: 0,
          changedAt: null,
          details: {},
        }
        byAttempt.set(payment.attemptId, made)
        provider.payments.push(made)
        return made
      }
      const twist = twists.shift()
      return twist ? twist(charge, payment) : charge()
    },
    getPayment: async (_account, id) => provider.payments.find((payment) => payment.id === id) ?? null,
    async createRefund(_account, refund) {
      provider.refundCalls.push(refund)
      const give = () => {
        const known = byRefund.get(refund.refundId)
        if (known) return known
        const at = provider.payments.findIndex(({ id }) => id === refund.paymentId)
        const payment = provider.payments[at] as ProviderPayment
        const refundedCents = payment.refundedCents + refund.amountCents
        if (refundedCents > (payment.amountCents ?? 0))
          throw new ProviderRefused([{ code: '2063', description: 'too much' }])
        const status = refundedCents === payment.amountCents ? 'refunded' : payment.status
        provider.payments[at] = { ...payment, refundedCents, status }
        const id = `d${++lastId}`
        byRefund.set(refund.refundId, id)
        return id
      }
      const twist = refundTwists.shift()
      return twist ? twist(give) : give()
    },
    async cancelPayment(_account, id) {
      const at = provider.payments.findIndex((payment) => payment.id === id)
      const payment = provider.payments[at]
      if (!payment) throw new Error('no such payment')
      const ended = payment.status === 'pending' ? { ...payment, status: 'cancelled' } : payment
      provider.payments[at] = ended
      return ended
    },
    getPaymentMethods: async () => ['pix', 'bolbradesco', 'visa'],
    getCardOptions: async (_account, amountCents, bin) =>
      bin.startsWith('4')
        ? { brand: 'visa', installments: [{ installments: 1, installmentCents: amountCents, totalCents: amountCents }] }
        : null,
    findPayments: async (_account, reference) =>
      provider.payments.filter((payment) => payment.externalReference === reference),
  }
  return provider
}

/** The payment is created, but the response is lost. */
export const lostAnswer: Twist = (charge) => {
  charge()
  throw new ProviderUnavailable('the answer was lost')
}

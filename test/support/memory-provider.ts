import {
  type NewPayment,
  type NewRefund,
  type PaymentProvider,
  type ProviderAccount,
  ProviderMisconfigured,
  type ProviderPayment,
  type ProviderRefund,
  ProviderRefused,
  ProviderUnavailable,
} from '#payments/provider-port.ts'

/** Behaviour of the provider instead of an ordinary payment; `charge` makes the payment, once per attempt. */
type Twist = (charge: () => ProviderPayment, payment: NewPayment) => ProviderPayment | Promise<ProviderPayment>

/** In-memory payment provider without faults: one payment per attempt. */
export interface MemoryProvider extends PaymentProvider {
  /** Payment calls, with their accounts. */
  readonly calls: (NewPayment & { account: ProviderAccount })[]
  /** Charged payments, and those that were put there. */
  readonly payments: ProviderPayment[]
  /** Adds a payment, or replaces the one with its id. */
  put(payment: ProviderPayment): void
  /** Ids and references of reads. */
  readonly asked: string[]
  /** Runs before each read; may throw or wait. */
  before: () => Promise<void> | void
  /** Status of new payments; initially `pending`. */
  status: string
  /** Overrides the next payment call. */
  twist(twist: Twist): void
  /** Refund calls. */
  readonly refundCalls: NewRefund[]
  /** Overrides the next refund call; `give` refunds, once per refund. */
  twistRefund(twist: RefundTwist): void
  /** Failure of every read of a payment; null for none. */
  readFailure: Error | null
  /** Status of new refunds; initially `completed`. */
  refundStatus: ProviderRefund['status']
  /** Lists a refund of a payment as made in the provider's own site, or decides one that is listed. */
  listRefund(paymentId: string, refund: ProviderRefund): void
}

/** Behaviour of the provider instead of an ordinary refund; `give` makes it, once per refund. */
type RefundTwist = (give: () => ProviderRefund) => ProviderRefund | Promise<ProviderRefund>

let lastId = 0

export function createMemoryProvider(): MemoryProvider {
  const byAttempt = new Map<string, ProviderPayment>()
  const twists: Twist[] = []
  const byRefund = new Map<string, ProviderRefund>()
  const refundTwists: RefundTwist[] = []
  const provider: MemoryProvider = {
    calls: [],
    payments: [],
    put(payment) {
      const at = provider.payments.findIndex(({ id }) => id === payment.id)
      if (at < 0) provider.payments.push(payment)
      else provider.payments[at] = payment
    },
    asked: [],
    before: () => {},
    status: 'pending',
    twist: (twist) => twists.push(twist),
    refundCalls: [],
    twistRefund: (twist) => refundTwists.push(twist),
    refundStatus: 'completed',
    readFailure: null,
    listRefund(paymentId, refund) {
      const at = provider.payments.findIndex(({ id }) => id === paymentId)
      const payment = provider.payments[at] as ProviderPayment
      const refunds = [...(payment.refunds ?? []).filter(({ id }) => id !== refund.id), refund]
      const sum = (of: readonly ProviderRefund[]) => of.reduce((cents, { amountCents }) => cents + amountCents, 0)
      const refundedCents = sum(refunds.filter(({ status }) => status === 'completed'))
      if (sum(refunds.filter(({ status }) => status !== 'refused')) > (payment.amountCents ?? 0))
        throw new ProviderRefused([{ code: '2063', description: 'too much' }])
      const status = refundedCents === payment.amountCents ? 'refunded' : payment.status
      provider.payments[at] = { ...payment, refunds, refundedCents, status }
    },
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
          refunds: [],
          expiresAt: null,
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
    async getPayment(_account, id) {
      provider.asked.push(id)
      await provider.before()
      if (provider.readFailure) throw provider.readFailure
      return provider.payments.find((payment) => payment.id === id) ?? null
    },
    async createRefund(_account, refund) {
      provider.refundCalls.push(refund)
      const give = () => {
        const known = byRefund.get(refund.refundId)
        if (known) return known
        const made = { id: `d${++lastId}`, amountCents: refund.amountCents, status: provider.refundStatus }
        provider.listRefund(refund.paymentId, made)
        byRefund.set(refund.refundId, made)
        return made
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
    async getPaymentMethods({ accessToken }) {
      if (accessToken === 'wrong') throw new ProviderMisconfigured('wrong token')
      if (provider.readFailure) throw provider.readFailure
      return ['pix', 'bolbradesco', 'visa']
    },
    getCardOptions: async (_account, amountCents, bin) =>
      bin.startsWith('4')
        ? { brand: 'visa', installments: [{ installments: 1, installmentCents: amountCents, totalCents: amountCents }] }
        : null,
    async findPayments(_account, reference) {
      provider.asked.push(reference)
      await provider.before()
      return provider.payments.filter((payment) => payment.externalReference === reference)
    },
  }
  return provider
}

/** The payment is created, but the response is lost. */
export const lostAnswer: Twist = (charge) => {
  charge()
  throw new ProviderUnavailable('the answer was lost')
}

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

/** The account of a store at the payment provider. */
export interface ProviderAccount {
  readonly accessToken: string
  readonly sandbox: boolean
}

/** A payment to be made. Money is integer cents. */
export interface NewPayment {
  /**
   * Goes out as the provider's idempotency key, and as metadata from which a payment that is found later tells its attempt.
   * The same attempt always comes with the same content.
   */
  readonly attemptId: string
  /** Goes out as external_reference: the order's provider_reference, by which a payment proves that it is this order's. */
  readonly orderReference: string
  readonly amountCents: number
  /** The service's commission, which the provider keeps apart. */
  readonly applicationFeeCents: number
  readonly paymentMethodId: string
  readonly payerEmail: string
  /** Of a card, made by the provider's own form in the buyer's browser; absent for methods without one. */
  readonly token: string | undefined
  readonly description: string
  readonly notificationUrl: string
}

/** A payment as the provider has it. */
export interface ProviderPayment {
  readonly id: string
  /** In the provider's words. */
  readonly status: string
  readonly statusDetail: string | null
  readonly externalReference: string | null
  /** From its metadata; null when there is none. */
  readonly attemptId: string | null
  /** Null when it is in another currency. */
  readonly amountCents: number | null
  readonly liveMode: boolean
}

/** What the service asks of a payment provider. No connection or lock of the database is held meanwhile. */
export interface PaymentProvider {
  /** @throws ProviderRefused, ProviderMisconfigured (no payment was made), ProviderUnavailable (nobody knows) */
  createPayment(account: ProviderAccount, payment: NewPayment): Promise<ProviderPayment>
  /** Null when the provider knows no such payment. @throws ProviderUnavailable, ProviderMisconfigured */
  getPayment(account: ProviderAccount, id: string): Promise<ProviderPayment | null>
  /** All payments with this external_reference. @throws ProviderUnavailable, ProviderMisconfigured */
  findPayments(account: ProviderAccount, orderReference: string): Promise<ProviderPayment[]>
}

/** Why the provider refused, in its own words, bounded and safe to be shown to the caller. */
export interface ProviderCause {
  readonly code: string
  readonly description: string
}

/** The provider understood and does not make this payment: the caller has to change something. */
export class ProviderRefused extends Error {
  override readonly name = 'ProviderRefused'
  constructor(readonly causes: readonly ProviderCause[]) {
    super('the payment provider refused the payment')
  }
}

/** The provider cannot be reached, is overloaded, or answers what cannot be understood: it may have made the payment or not. */
export class ProviderUnavailable extends Error {
  override readonly name = 'ProviderUnavailable'
}

/** The store's credentials are missing or not accepted: whoever runs the service has to act. */
export class ProviderMisconfigured extends Error {
  override readonly name = 'ProviderMisconfigured'
}

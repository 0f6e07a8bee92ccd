import type { DataOf } from '#events/catalogue.ts'
import type { RefundStatus } from '#projections/order-payments.ts'

/** Account of a store at the payment provider. */
export interface ProviderAccount {
  readonly accessToken: string
  readonly sandbox: boolean
  /** The store belongs to a test company. */
  readonly isTest?: boolean
}

/** Payer. Never logged or recorded in an event. */
export interface Payer {
  readonly email: string
  readonly name: string | null
  /** CPF or CNPJ without punctuation. */
  readonly document: string | null
  readonly address: PayerAddress | null
}

export interface PayerAddress {
  readonly zip_code: string
  readonly street: string
  readonly number: string
  readonly neighborhood: string
  readonly city: string
  readonly state: string
}

/** Payment to create. Money is in integer cents. */
export interface NewPayment {
  /**
   * Sent as idempotency key, and as metadata that identifies the attempt of a payment found later. An attempt always
   * has the same content.
   */
  readonly attemptId: string
  /** Sent as external_reference: the order's provider_reference, which links a payment to its order. */
  readonly orderReference: string
  readonly amountCents: number
  /** Commission, which the provider withholds for the service. */
  readonly applicationFeeCents: number
  readonly paymentMethodId: string
  readonly payer: Payer
  /** Card token, created by the provider's form in the buyer's browser; absent for other methods. */
  readonly token: string | undefined
  /** Cards only. */
  readonly installments: number | undefined
  /** Time to pay from the call on; absent for cards. */
  readonly expiresInMinutes: number | undefined
  readonly description: string
  readonly notificationUrl: string
}

/** Payment as reported by the provider. */
export interface ProviderPayment {
  readonly id: string
  /** In the provider's terms. */
  readonly status: string
  readonly statusDetail: string | null
  readonly externalReference: string | null
  /** From its metadata; null if it has none. */
  readonly attemptId: string | null
  /** Null in other currencies. */
  readonly amountCents: number | null
  readonly liveMode: boolean
  /** Refunded so far. */
  readonly refundedCents: number
  /** Requested here or on the provider's own site; null if the provider's list is unreadable. */
  readonly refunds: readonly ProviderRefund[] | null
  /** Payment deadline in UTC; null if not reported. */
  readonly expiresAt: string | null
  /** Last change at the provider, in UTC; null if not reported. */
  readonly changedAt: string | null
  readonly details: PaymentDetails
}

/** Refund as reported by the provider: `pending` while in process there. */
export interface ProviderRefund {
  readonly id: string
  readonly amountCents: number
  readonly status: RefundStatus
}

type Recorded = DataOf<'PaymentRecorded'>

/** Payment details as recorded in events, of the payment's method only. */
export type PaymentDetails = Pick<Recorded, 'pix' | 'boleto' | 'card'> & {
  /** Of a paid Pix. */
  readonly end_to_end_id?: string
}

/** Instalment options of a card. */
export interface CardOptions {
  readonly brand: string
  readonly installments: readonly InstallmentOption[]
}

interface InstallmentOption {
  readonly installments: number
  readonly installmentCents: number
  /** Total for the buyer, including the provider's interest. */
  readonly totalCents: number
}

/** Refund to create. */
export interface NewRefund {
  /** Sent as idempotency key. */
  readonly refundId: string
  readonly paymentId: string
  readonly amountCents: number
}

/** Operations of a payment provider. Callers hold no database connection or lock meanwhile. */
export interface PaymentProvider {
  /**
   * @throws ProviderRefused, ProviderMisconfigured (this call made no payment), ProviderUnavailable (unknown),
   * ProviderConflict (an earlier call may have made it)
   */
  createPayment(account: ProviderAccount, payment: NewPayment): Promise<ProviderPayment>
  /**
   * Cancels a pending payment, and returns its current state, cancelled or not. @throws ProviderUnavailable,
   * ProviderMisconfigured
   */
  cancelPayment(account: ProviderAccount, id: string): Promise<ProviderPayment>
  /**
   * Returns the refund, completed or pending. @throws ProviderRefused, ProviderMisconfigured, ProviderUnavailable: the
   * payment must be read before anything is concluded, because a refund in process may be answered like a refusal
   */
  createRefund(account: ProviderAccount, refund: NewRefund): Promise<ProviderRefund>
  /** Null if the provider does not know the payment. @throws ProviderUnavailable, ProviderMisconfigured */
  getPayment(account: ProviderAccount, id: string): Promise<ProviderPayment | null>
  /** The provider's names of the account's payment methods. @throws ProviderUnavailable, ProviderMisconfigured */
  getPaymentMethods(account: ProviderAccount): Promise<string[]>
  /**
   * `bin`: first digits of a card; null if the provider does not know the card. @throws ProviderUnavailable,
   * ProviderMisconfigured
   */
  getCardOptions(account: ProviderAccount, amountCents: number, bin: string): Promise<CardOptions | null>
  /** All payments with this external_reference. @throws ProviderUnavailable, ProviderMisconfigured */
  findPayments(account: ProviderAccount, orderReference: string): Promise<ProviderPayment[]>
}

/** Cause of a refusal in the provider's words, bounded and safe to show to the caller. */
export interface ProviderCause {
  readonly code: string
  readonly description: string
}

/** The provider rejected the payment or refund: the caller has to change something. */
export class ProviderRefused extends Error {
  override readonly name = 'ProviderRefused'
  constructor(readonly causes: readonly ProviderCause[]) {
    super('the payment provider refused the payment')
  }
}

/** The provider is unreachable, overloaded, or responds unexpectedly: the operation may have happened. */
export class ProviderUnavailable extends Error {
  override readonly name = 'ProviderUnavailable'
}

/** The key belongs to other content, or is in use: the operation may have happened earlier. */
export class ProviderConflict extends ProviderUnavailable {}

/** The store has no account at the provider yet: a person connects it. */
export class StoreNotConnected extends Error {
  override readonly name = 'StoreNotConnected'
}

/** The store's credentials are missing or rejected: the operator has to act. */
export class ProviderMisconfigured extends Error {
  override readonly name = 'ProviderMisconfigured'
  constructor(
    message: string,
    readonly causes: readonly ProviderCause[] = [],
  ) {
    super(message)
  }
}

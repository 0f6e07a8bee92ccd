import type { DataOf } from '#events/catalogue.ts'

/** The account of a store at the payment provider. */
export interface ProviderAccount {
  readonly accessToken: string
  readonly sandbox: boolean
  /** Of a test company's store. */
  readonly isTest?: boolean
}

/** Who pays. In no log, and in no event. */
export interface Payer {
  readonly email: string
  readonly name: string | null
  /** CPF or CNPJ, bare. */
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
  readonly payer: Payer
  /** Of a card, made by the provider's own form in the buyer's browser; absent for methods without one. */
  readonly token: string | undefined
  /** Of a card. */
  readonly installments: number | undefined
  /** When the time to pay is over, in UTC; absent of cards. */
  readonly expiresAt: string | undefined
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
  /** Given back by refunds so far. */
  readonly refundedCents: number
  /** When the provider last changed it, in UTC; null where it does not say. */
  readonly changedAt: string | null
  readonly details: PaymentDetails
}

type Recorded = DataOf<'PaymentRecorded'>

/** What a payment is made with, as events keep it: of its method alone. */
export type PaymentDetails = Pick<Recorded, 'pix' | 'boleto' | 'card'>

/** How a card may pay an amount. */
export interface CardOptions {
  readonly brand: string
  readonly installments: readonly InstallmentOption[]
}

interface InstallmentOption {
  readonly installments: number
  readonly installmentCents: number
  /** What the buyer pays in all, with the provider's interest. */
  readonly totalCents: number
}

/** Money to be given back of a payment. */
export interface NewRefund {
  /** Goes out as the provider's idempotency key. */
  readonly refundId: string
  readonly paymentId: string
  readonly amountCents: number
}

/** What the service asks of a payment provider. No connection or lock of the database is held meanwhile. */
export interface PaymentProvider {
  /**
   * @throws ProviderRefused, ProviderMisconfigured (this call made no payment), ProviderUnavailable (nobody knows),
   * ProviderConflict (an earlier call may have)
   */
  createPayment(account: ProviderAccount, payment: NewPayment): Promise<ProviderPayment>
  /** Cancels a payment that waits; answers it as it then stands, whatever it has become meanwhile. @throws ProviderUnavailable, ProviderMisconfigured */
  cancelPayment(account: ProviderAccount, id: string): Promise<ProviderPayment>
  /** Answers the refund's id. @throws ProviderRefused, ProviderMisconfigured (this call gave nothing back), ProviderUnavailable (nobody knows) */
  createRefund(account: ProviderAccount, refund: NewRefund): Promise<string>
  /** Null when the provider knows no such payment. @throws ProviderUnavailable, ProviderMisconfigured */
  getPayment(account: ProviderAccount, id: string): Promise<ProviderPayment | null>
  /** The provider's names of the means of payment that the account takes. @throws ProviderUnavailable, ProviderMisconfigured */
  getPaymentMethods(account: ProviderAccount): Promise<string[]>
  /** `bin`: a card's first digits; null when the provider knows no such card. @throws ProviderUnavailable, ProviderMisconfigured */
  getCardOptions(account: ProviderAccount, amountCents: number, bin: string): Promise<CardOptions | null>
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

/** What was asked for came under a key that stands for another content, or is being dealt with: it may have been made before. */
export class ProviderConflict extends ProviderUnavailable {}

/** The store's credentials are missing or not accepted: whoever runs the service has to act. */
export class ProviderMisconfigured extends Error {
  override readonly name = 'ProviderMisconfigured'
}

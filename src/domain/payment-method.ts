/**
 * Documented methods that settle an account; a settlement takes any other text too. Sales use the payment
 * types of each subscriber instead.
 */
export const PAYMENT_METHODS = [
  'cash',
  'pix',
  'credit_card',
  'debit_card',
  'bank_slip',
  'bank_transfer',
  'check',
  'other',
] as const

type PaymentMethod = (typeof PAYMENT_METHODS)[number]

/** Portuguese names. */
export const PAYMENT_METHOD_NAMES: Readonly<Record<PaymentMethod, string>> = {
  cash: 'Dinheiro',
  pix: 'Pix',
  credit_card: 'Cartão de crédito',
  debit_card: 'Cartão de débito',
  bank_slip: 'Boleto bancário',
  bank_transfer: 'Transferência bancária',
  check: 'Cheque',
  other: 'Outro',
}

/** Portuguese name of a method; other texts are names themselves. */
export const paymentMethodName = (method: string): string =>
  Object.hasOwn(PAYMENT_METHOD_NAMES, method) ? PAYMENT_METHOD_NAMES[method as PaymentMethod] : method

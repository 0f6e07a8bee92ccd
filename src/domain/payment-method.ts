/** Methods that settle an account (ACCT-10). Sales use the payment types of each subscriber instead. */
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

export type PaymentMethod = (typeof PAYMENT_METHODS)[number]

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

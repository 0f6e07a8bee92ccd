/** Settings of the simulated OAuth. */
export interface Connections {
  /** Lifetime of issued access tokens, in seconds. */
  token_seconds: number
  /** Whether refresh tokens are refused, as after the owner has revoked the service's access. */
  revoked: boolean
}

/** 180 days, like the real provider. */
const TOKEN_SECONDS = 15_552_000

export const newConnections = (): Connections => ({ token_seconds: TOKEN_SECONDS, revoked: false })

/** Offered payment methods; `bins`: first digits of a brand's cards. */
export const METHODS: readonly { id: string; payment_type_id: string; status: string; bins: readonly string[] }[] = [
  { id: 'pix', payment_type_id: 'bank_transfer', status: 'active', bins: [] },
  { id: 'bolbradesco', payment_type_id: 'ticket', status: 'active', bins: [] },
  { id: 'visa', payment_type_id: 'credit_card', status: 'active', bins: ['4'] },
  { id: 'master', payment_type_id: 'credit_card', status: 'active', bins: ['5'] },
  { id: 'elo', payment_type_id: 'credit_card', status: 'active', bins: ['636'] },
  { id: 'amex', payment_type_id: 'credit_card', status: 'active', bins: ['37'] },
]

const MOST_INSTALLMENTS = 12
/** Minimum of an instalment. */
const LEAST_INSTALLMENT_CENTS = 500
const INTEREST_PER_INSTALLMENT = 0.03

/** Instalment options of a card; several instalments cost interest. */
export function cardOptions(brand: string, amount: number) {
  const cents = Math.round(amount * 100)
  const counts = Array.from({ length: MOST_INSTALLMENTS }, (_, n) => n + 1)
  const payer_costs = counts
    .filter((installments) => installments === 1 || cents / installments >= LEAST_INSTALLMENT_CENTS)
    .map((installments) => {
      const interest = installments === 1 ? 0 : INTEREST_PER_INSTALLMENT * (installments - 1)
      const each = Math.ceil((cents * (1 + interest)) / installments)
      return { installments, installment_amount: each / 100, total_amount: (each * installments) / 100 }
    })
  return { payment_method_id: brand, payment_type_id: 'credit_card', payer_costs }
}

/** Code (ISPB) of the simulated bank of buyers. */
const BANK = '00038166'

interface PixPayment {
  readonly id: number
  readonly status: string
  readonly date_last_updated: string
  readonly payment_method_id: string
  readonly point_of_interaction?: { readonly transaction_data: object }
}

/** The payment; a paid Pix with the end-to-end id that banks gave it: bank, minute, and a number of the bank's. */
export function withEndToEnd<P extends PixPayment>(payment: P): P {
  const { id, status, date_last_updated: at, payment_method_id, point_of_interaction: pix } = payment
  if (status !== 'approved' || payment_method_id !== 'pix' || !pix || 'e2e_id' in pix.transaction_data) return payment
  const e2e_id = `E${BANK}${at.replace(/\D/g, '').slice(0, 12)}${String(id).padStart(11, '0')}`
  const transaction_data = { ...pix.transaction_data, e2e_id, transaction_id: `PIX${e2e_id}` }
  return { ...payment, point_of_interaction: { transaction_data } }
}

/** A PNG of one pixel, since sandbox payments are never scanned. */
const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

/** Payment details of a new payment, in the provider's format. */
export function toInstructions(
  id: number,
  charge: { payment_method_id: string; transaction_amount: number; token?: string | undefined },
): object {
  const { payment_method_id, transaction_amount, token } = charge
  const ticket_url = `https://sandbox.example/payments/${id}/ticket`
  if (payment_method_id === 'pix') {
    const qr_code = `00020126580014br.gov.bcb.pix0136sandbox-${id}5303986540${transaction_amount.toFixed(2)}5802BR6304ABCD`
    return { point_of_interaction: { transaction_data: { qr_code, qr_code_base64: PICTURE, ticket_url } } }
  }
  if (payment_method_id === 'bolbradesco') {
    const content = `2379${String(id).padStart(40, '0')}`
    const digitable_line = `23793${String(id).padStart(42, '0')}`
    return { transaction_details: { barcode: { content }, digitable_line, external_resource_url: ticket_url } }
  }
  return token === undefined ? {} : { card: { first_six_digits: '423564', last_four_digits: '5682' } }
}

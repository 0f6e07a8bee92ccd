export const ONLINE_METHODS = ['pix', 'card', 'boleto'] as const
export type OnlineMethod = (typeof ONLINE_METHODS)[number]

/** The provider's names of methods other than cards. */
export const PIX = 'pix'
export const BOLETO = 'bolbradesco'

/** Own method for the provider's method id; other names are card brands. */
export function methodOf(paymentMethodId: string): OnlineMethod {
  if (paymentMethodId === PIX) return 'pix'
  return paymentMethodId === BOLETO ? 'boleto' : 'card'
}

/** Bounds and defaults of the payment deadline, in minutes; cards are decided at once. */
export const EXPIRY_MINUTES: Readonly<Record<OnlineMethod, number | null>> = { pix: 60, boleto: 4_320, card: null }
/** A minute more than the provider's least, because a call takes time; a boleto is due in whole days. */
export const SHORTEST_EXPIRY_MINUTES = 31
export const SHORTEST_BOLETO_MINUTES = 1_440
/** A minute less than the provider's 30 days. */
export const LONGEST_EXPIRY_MINUTES = 43_199

/** Portuguese text for the provider's status detail; buyers see it too. */
const DETAILS: Readonly<Record<string, string>> = {
  accredited: 'Pagamento aprovado.',
  partially_refunded: 'Pagamento aprovado e estornado em parte.',
  pending_contingency: 'O pagamento está sendo processado.',
  pending_review_manual: 'O pagamento está em análise.',
  pending_waiting_payment: 'Aguardando o pagamento do comprador.',
  pending_waiting_transfer: 'Aguardando a transferência do comprador.',
  pending_challenge: 'Aguardando a confirmação do comprador no banco.',
  expired: 'O prazo de pagamento terminou.',
  by_collector: 'Cancelado pela loja.',
  by_payer: 'Cancelado pelo comprador.',
  refunded: 'Pagamento estornado.',
  bank_error: 'O banco recusou a transação.',
  cc_rejected_bad_filled_card_number: 'O número do cartão está incorreto.',
  cc_rejected_bad_filled_date: 'A validade do cartão está incorreta.',
  cc_rejected_bad_filled_other: 'Os dados do cartão estão incorretos.',
  cc_rejected_bad_filled_security_code: 'O código de segurança do cartão está incorreto.',
  cc_rejected_blacklist: 'O pagamento foi recusado.',
  cc_rejected_call_for_authorize: 'O comprador deve autorizar o pagamento com o emissor do cartão.',
  cc_rejected_card_disabled: 'O cartão está desativado: o comprador deve ligar para o emissor.',
  cc_rejected_card_error: 'O cartão não pôde ser processado.',
  cc_rejected_duplicated_payment: 'Já houve um pagamento com este valor: use outro cartão ou outro meio.',
  cc_rejected_high_risk: 'O pagamento foi recusado: use outro meio.',
  cc_rejected_insufficient_amount: 'O cartão não tem limite suficiente.',
  cc_rejected_invalid_installments: 'O cartão não aceita este número de parcelas.',
  cc_rejected_max_attempts: 'O limite de tentativas com este cartão foi atingido.',
  cc_rejected_other_reason: 'O emissor do cartão recusou o pagamento.',
}

/** Texts by status, for unknown details. */
const STATES: Readonly<Record<string, string>> = {
  pending: 'Aguardando o pagamento.',
  in_process: 'O pagamento está sendo processado.',
  authorized: 'O pagamento está autorizado e ainda não foi cobrado.',
  approved: 'Pagamento aprovado.',
  rejected: 'O pagamento foi recusado.',
  cancelled: 'O pagamento foi cancelado.',
  in_mediation: 'O comprador abriu uma reclamação.',
  refunded: 'Pagamento estornado.',
  charged_back: 'O comprador contestou o pagamento no cartão.',
}

/** Portuguese text of a payment's state; null if the provider's status is unknown. */
export function stateInPortuguese(providerStatus: string, detail: string | null): string | null {
  if (detail !== null && Object.hasOwn(DETAILS, detail)) return DETAILS[detail] as string
  return Object.hasOwn(STATES, providerStatus) ? (STATES[providerStatus] as string) : null
}

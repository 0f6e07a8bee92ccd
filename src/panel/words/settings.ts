import type { PaymentKind } from '#events/companies.ts'

export const ROLE_NAMES = { owner: 'Proprietário', clerk: 'Atendente' } as const

export const USER_STATUS = { active: ['good', 'Ativo'], inactive: ['plain', 'Desativado'] } as const

export const PLAN_NAMES = { basic: 'Básico', api: 'Com adicional de API' } as const

export const PAYMENT_KIND_NAMES: Readonly<Record<PaymentKind, string>> = {
  cash: 'Dinheiro',
  card: 'Cartão',
  pix: 'Pix',
  transfer: 'Transferência',
  credit_account: 'Crediário ou convênio (a prazo)',
  exchange_credit: 'Crédito de troca',
  promotion: 'Promoção',
  cashback: 'Cashback',
  other: 'Outra',
}

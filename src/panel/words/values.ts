import * as format from '#domain/brazilian-format.ts'
import { stateInPortuguese } from '#domain/online-payment.ts'
import type { CARD_BRANDS } from '#domain/sale-payment.ts'
import type { TAX_REGIMES } from '#events/companies.ts'
import type { IE_INDICATORS } from '#events/persons.ts'
import { PERMISSION_NAMES, ROLE_NAMES } from './permissions.ts'

export const CARD_BRAND_NAMES: Readonly<Record<(typeof CARD_BRANDS)[number], string>> = {
  visa: 'Visa',
  mastercard: 'Mastercard',
  elo: 'Elo',
  amex: 'American Express',
  hipercard: 'Hipercard',
  other: 'Outra bandeira',
}

export const IE_INDICATOR_NAMES: Readonly<Record<(typeof IE_INDICATORS)[number], string>> = {
  1: '1 – Contribuinte do ICMS',
  2: '2 – Contribuinte isento de inscrição',
  9: '9 – Não contribuinte',
}

/** Origins of goods, as in fiscal documents. */
export const GOODS_ORIGIN_NAMES: Readonly<Record<string, string>> = {
  0: '0 – Nacional',
  1: '1 – Importada diretamente',
  2: '2 – Importada, comprada no mercado interno',
  3: '3 – Nacional, com mais de 40% de conteúdo importado',
  4: '4 – Nacional, por processo produtivo básico',
  5: '5 – Nacional, com até 40% de conteúdo importado',
  6: '6 – Importada diretamente, sem similar nacional',
  7: '7 – Importada, comprada no mercado interno, sem similar nacional',
  8: '8 – Nacional, com mais de 70% de conteúdo importado',
}

export const PLAN_NAMES = { basic: 'Básico', api: 'Com adicional de API' } as const

export const TAX_REGIME_NAMES: Readonly<Record<(typeof TAX_REGIMES)[number], string>> = {
  simples_nacional: 'Simples Nacional',
  simples_nacional_excess: 'Simples Nacional, com excesso de sublimite',
  normal: 'Regime normal',
  mei: 'MEI',
}

/** Names of enumerated values, by field. */
export const VALUE_NAMES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  plan: PLAN_NAMES,
  tax_regime: TAX_REGIME_NAMES,
  kind: {
    cash: 'Dinheiro',
    card: 'Cartão',
    pix: 'Pix',
    transfer: 'Transferência',
    credit_account: 'Crediário',
    online: 'Loja online',
    exchange_credit: 'Vale-troca',
    promotion: 'Promoção',
    cashback: 'Cashback',
    other: 'Outro',
    payment: 'Pagamento',
    return: 'Devolução de mercadoria',
    customer: 'Cliente',
    supplier: 'Fornecedor',
    user: 'Usuário',
    order: 'Pedido',
    purchase: 'Entrada',
    count: 'Inventário',
    loss: 'Perda',
    adjustment: 'Ajuste',
    opened: 'Abertura',
    closed: 'Fechamento',
    in: 'Entrada na gaveta',
    out: 'Retirada da gaveta',
    received: 'Conta recebida',
    sale: 'Venda',
    cancel: 'Venda cancelada',
  },
  role: ROLE_NAMES,
  permissions: PERMISSION_NAMES,
  method: { totp: 'aplicativo autenticador', passkey: 'chave de acesso' },
  person_type: { PF: 'Pessoa física', PJ: 'Pessoa jurídica' },
  type: { product: 'Produto', service: 'Serviço' },
  reason: {
    count: 'Contagem',
    adjustment: 'Movimentação',
    return: 'Devolução',
    no_response: 'Sem resposta',
    gone: 'O endereço não existe mais',
    requested: 'A pedido',
  },
  status: {
    completed: 'Concluída',
    pending: 'Pendente',
    settled: 'Quitada',
    authorized: 'Autorizado',
    cancelled: 'Cancelado',
    contingency: 'Em contingência',
    paid: 'Pago',
    failed: 'Falhou',
    refunded: 'Estornado',
    refused: 'Recusada',
    expired: 'Expirado',
    open: 'Aberto',
    applied: 'Aplicado ao estoque',
    discarded: 'Descartado',
    active: 'Ativo',
    inactive: 'Desativado',
    invited: 'Convidado',
    revoked: 'Revogada',
    disabled: 'Desligado',
    paused: 'Pausado',
  },
  code: {
    refund_differs: 'Valor menor que o devido',
    sale_unknown: 'Venda desconhecida ou de outro usuário',
    too_many_waiting: 'Devoluções demais sem venda',
    expired: 'A venda não chegou',
    sale_cancelled: 'Venda cancelada',
    already_returned: 'Mais do que restava da venda',
    payment_mismatch: 'Mais dinheiro do que é devido',
    permission_required: 'Acima do limite do perfil',
    session_of_other: 'Gaveta de outro usuário',
    at_old: 'Data antiga',
    receivable_open: 'Fiado baixado diferente do devido',
    credit_without_customer: 'Crédito de troca sem cliente',
    returned_at_in_future: 'Data no futuro',
    negative_stock: 'Estoque negativo',
    quantity_not_whole: 'Quantidade não inteira',
    price_differs: 'Preço diferente do cadastro',
    product_deactivated: 'Produto desativado',
    payment_pending: 'Pagamento pendente',
    change_without_cash: 'Troco sem dinheiro',
    created_at_in_future: 'Data no futuro',
    created_at_old: 'Data antiga',
    sold_at_old: 'Data antiga',
    cancelled_at_in_future: 'Cancelamento no futuro',
    cancelled_at_before_sale: 'Cancelamento antes da venda',
    line_total_rounded: 'Total do item arredondado',
    line_discount: 'Desconto no item',
    discount: 'Desconto',
    total_rounded: 'Total arredondado',
    amount_received_differs: 'Valor recebido não confere',
    customer_unknown: 'Cliente não encontrado',
    customer_deleted: 'Cliente excluído',
    customer_forgotten: 'Cliente anonimizado',
    discount_limit_exceeded: 'Desconto acima do limite do usuário',
    payment_already_used: 'Pagamento já usado em outra venda',
    credit_exceeded: 'Crédito de troca acima do saldo',
    product_unknown: 'Produto não encontrado',
    payment_type_unknown: 'Forma de pagamento não encontrada',
    recorded_as_is: 'Registrada como estava',
    recorded_corrected: 'Registrada corrigida',
    second_payment: 'Segundo pagamento aprovado',
    paid_after_refund: 'Pago depois de estornado',
    paid_after_cancellation: 'Pago depois de cancelado',
    refund_after_refusal: 'Estorno feito depois de recusado',
    stock_short: 'Estoque insuficiente',
    fiscal_document_issued: 'Documento fiscal em vigor',
  },
  warnings: {
    session_closed: 'Chegou depois do fechamento',
    at_in_future: 'Data no futuro',
    at_old: 'Data antiga',
  },
  origin: { api: 'API', pdv: 'Ponto de venda', system: 'Loja online', sale: 'Venda', ...GOODS_ORIGIN_NAMES },
  brand: CARD_BRAND_NAMES,
  ie_indicator: IE_INDICATOR_NAMES,
  payment_method: {
    cash: 'Dinheiro',
    pix: 'Pix',
    credit_card: 'Cartão de crédito',
    debit_card: 'Cartão de débito',
    bank_slip: 'Boleto',
    bank_transfer: 'Transferência bancária',
    check: 'Cheque',
    other: 'Outra',
  },
  secrets: { access_token: 'Token de acesso', notification_secret: 'Segredo das notificações' },
  dispute: { open: 'Aberta', lost: 'Perdida', won: 'Ganha' },
  ground: {
    consent_withdrawn: 'A pessoa retirou o consentimento',
    holder_request: 'A pessoa pediu',
    purpose_ended: 'Os dados não eram mais necessários',
    unlawful: 'Os dados foram tratados indevidamente',
    restored_backup: 'Os dados voltaram com um backup restaurado',
  },
  parts: { identity: 'Identidade', contact: 'Contato' },
  live_mode: { true: 'Produção', false: 'Teste' },
  acquirer_fee_refunded: { true: 'sim', false: 'não' },
  provider_status: {
    pending: 'Pendente',
    in_process: 'Em processamento',
    authorized: 'Autorizado',
    approved: 'Aprovado',
    rejected: 'Recusado',
    cancelled: 'Cancelado',
    in_mediation: 'Em reclamação',
    refunded: 'Estornado',
    charged_back: 'Contestado',
  },
}

/** Display text of a truth value: `sim` or `não`, unless the field has words of its own. */
export const textOfBoolean = (name: string, value: boolean): string =>
  VALUE_NAMES[name]?.[String(value)] ?? (value ? 'sim' : 'não')

const MONEY = new Set([
  'balance',
  'paid_amount',
  'open_amount',
  'interest',
  'fine',
  'excess',
  'received',
  'amount',
  'unit_price',
  'unit_cost',
  'subtotal',
  'discount',
  'discount_share',
  'delivery_fee',
  'surcharge',
  'total',
  'net',
  'price',
  'cost',
  'amount_received',
  'refunded',
  'refunded_total',
  'store_net',
  'store_amount',
  'sold',
  'cancelled',
  'returned',
  'return_limit',
  'discount_limit',
])
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/
const DAY = /^\d{4}-\d\d-\d\d$/
const PERCENTAGES = new Set(['fee_percentage', 'commission_percentage', 'percentage'])
const CENTS = /^-?\d+\.\d{2}$/
/** Amounts and quantities have two or three decimals. */
const DECIMAL = /^-?\d+\.\d{2,3}$/

/** Display text of a value: amounts, days, times, tax numbers and enumerated values. */
export function textOfValue(name: string, value: string, timezone: string): string {
  const named = Object.hasOwn(VALUE_NAMES, name) ? VALUE_NAMES[name] : undefined
  if (named && Object.hasOwn(named, value)) return named[value] as string
  // A text may only look like an instant: 2016-12-31T23:59:60Z.
  if (INSTANT.test(value) && !Number.isNaN(Date.parse(value))) return format.formatDateTimeSeconds(value, timezone)
  if (DAY.test(value)) return format.formatDay(value)
  if (MONEY.has(name) && CENTS.test(value)) return format.formatMoney(value)
  if (PERCENTAGES.has(name) && DECIMAL.test(value)) return format.formatPercentage(value)
  if (DECIMAL.test(value)) return format.formatQuantity(value)
  if (name === 'status_detail') return stateInPortuguese('', value) ?? value
  if (name === 'document') return format.formatTaxNumber(value)
  if (name === 'phone') return format.formatPhone(value)
  if (name === 'zip') return format.formatZipCode(value)
  return value
}

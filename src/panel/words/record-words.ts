import { fromCents } from '#domain/money.ts'
import { type CARD_BRANDS, PAYMENT_METHOD_NAMES, stateInPortuguese, sumReceived } from '#domain/payment-rules.ts'
import * as format from '#domain/person-values.ts'
import {
  formatDateTime,
  formatDay,
  formatFraction,
  formatMoney,
  formatPercentage,
  formatPersonName,
  formatQuantity,
} from '#domain/person-values.ts'
import { ROLE_NAMES } from '#domain/rights.ts'
import type { DataOf, EventName } from '#events/catalogue.ts'
import type { Envelope } from '#ledger/command.ts'
import { COMPANY_FIELDS, PAYMENT_KIND_NAMES, PAYMENT_TYPE_FIELDS, STORE_FIELDS } from '#records/company-settings.ts'
import { choiceNames, namesOfType } from '#records/field.ts'
import { GOODS_ORIGIN_NAMES, ITEM_FIELDS } from '#records/items.ts'
import { DELIVERY_METHOD_NAMES } from '#records/list-filters.ts'
import { CUSTOMER_FIELDS } from '#records/persons.ts'
import { eventName, rangesText } from './event-words.ts'
import { PERMISSION_NAMES } from './message-words.ts'

export const CARD_BRAND_NAMES: Readonly<Record<(typeof CARD_BRANDS)[number], string>> = {
  visa: 'Visa',
  mastercard: 'Mastercard',
  elo: 'Elo',
  amex: 'American Express',
  hipercard: 'Hipercard',
  other: 'Outra bandeira',
}

/** Names of enumerated values, by field. */
export const VALUE_NAMES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ...choiceNames({ ...COMPANY_FIELDS, ...ITEM_FIELDS, ...CUSTOMER_FIELDS }),
  kind: {
    ...PAYMENT_KIND_NAMES,
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
    in: 'Suprimento',
    out: 'Sangria',
    received: 'Conta recebida',
    sale: 'Venda',
    cancel: 'Venda cancelada',
    company: 'Empresa',
    percent: 'Percentual',
    cost: 'Custo',
  },
  role: ROLE_NAMES,
  permissions: PERMISSION_NAMES,
  method: { ...DELIVERY_METHOD_NAMES, totp: 'aplicativo autenticador', passkey: 'chave de acesso' },
  reason: {
    count: 'Contagem',
    adjustment: 'Movimentação',
    return: 'Devolução',
    no_response: 'Sem resposta',
    gone: 'O endereço não existe mais',
    requested: 'A pedido',
    change: 'Troco errado ou faltou troco',
    payment_method: 'Erro de forma de pagamento',
    unrecorded_movement: 'Sangria ou suprimento não lançado',
    unrecorded_sale: 'Venda não registrada',
    miscount: 'Erro na contagem',
    unknown: 'Sem explicação',
    other: 'Outro motivo',
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
    voucher_expired: 'Vale-troca vencido',
    product_unknown: 'Produto não encontrado',
    payment_type_unknown: 'Forma de pagamento não encontrada',
    recorded_as_is: 'Registrada como estava',
    recorded_corrected: 'Registrada corrigida',
    recorded_from_receipt: 'Registrada pelo cupom',
    access_ended: 'Vendida depois do fim do acesso',
    till_signature: 'Assinatura do caixa não confere',
    till_chain: 'Sequência do caixa interrompida',
    till_number: 'Número do caixa repetido',
    second_payment: 'Segundo pagamento aprovado',
    paid_after_refund: 'Pago depois de estornado',
    paid_after_cancellation: 'Pago depois de cancelado',
    refund_after_refusal: 'Estorno feito depois de recusado',
    stock_short: 'Estoque insuficiente',
    account_overpaid: 'Recebido mais do que a conta devia',
    fiscal_document_issued: 'Documento fiscal em vigor',
  },
  warnings: {
    session_closed: 'Chegou depois do fechamento',
    at_in_future: 'Data no futuro',
    at_old: 'Data antiga',
    till_signature: 'Assinatura do caixa não confere',
    till_chain: 'Sequência do caixa interrompida',
    till_number: 'Número do caixa repetido',
  },
  origin: { api: 'API', pdv: 'Ponto de venda', system: 'Loja online', sale: 'Venda', ...GOODS_ORIGIN_NAMES },
  brand: CARD_BRAND_NAMES,
  payment_method: PAYMENT_METHOD_NAMES,
  secrets: { access_token: 'Access Token', notification_secret: 'Assinatura secreta' },
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
  breaks_next: { true: 'sim' },
  repeats: { true: 'sim' },
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
  'max_amount_per_call',
  'max_amount_per_day',
  'return_limit',
  'discount_limit',
])
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/
const DAY = /^\d{4}-\d\d-\d\d$/
const PERCENTAGES = new Set([...namesOfType({ ...PAYMENT_TYPE_FIELDS, ...STORE_FIELDS }, 'percentage'), 'percentage'])
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

/** Display text of a named value, in the company's time zone. */
type ValueText = (name: string, value: string) => string

type Sentences = { readonly [N in EventName]?: (data: DataOf<N>, text: ValueText, timezone: string) => string }

/** Adds a reason, if there is one. */
export const because = (sentence: string, reason: string | null): string =>
  reason === null || reason === '' ? sentence : `${sentence}: ${reason}`

/** The approval of an operation, if it had one. */
const approved = (userId: number | undefined): string =>
  userId === undefined ? '' : `, autorizada pelo usuário ${userId}`

/** Goods that return to stock with a cancellation or a refund. */
function goods(restock: readonly unknown[], [one, more]: readonly [string, string]): string {
  if (restock.length === 0) return ''
  return `; ${restock.length === 1 ? `um produto ${one}` : `${restock.length} produtos ${more}`} ao estoque`
}

/** Money that went back with a cancellation, by way of paying. */
const moneyBack = (refunds: readonly { readonly name: string; readonly amount: string }[]): string =>
  refunds.map(({ name, amount }) => `; ${formatMoney(amount)} devolvidos em ${name}`).join('')

function stockMoved({ reason, before, after, order_id }: DataOf<'StockAdjusted'>): string {
  if (after === null) return 'Estoque deixou de ser controlado'
  const now = formatQuantity(after)
  if (before === null) return `Estoque passou a ser controlado: ${now}`
  const what = { count: 'Estoque contado', adjustment: 'Estoque movimentado', return: 'Produto devolvido' }[reason]
  return `${what}${order_id === undefined ? '' : ` (pedido ${order_id})`}: ${formatQuantity(before)} → ${now}`
}

const byMethod = (method: string | null, text: ValueText): string =>
  method === null ? '' : `, ${text('payment_method', method)}`

const settled = ({ settled_on, payment_method }: DataOf<'ReceivableSettled'>, text: ValueText): string =>
  `em ${formatDay(settled_on)}${byMethod(payment_method, text)}`

/** What changed hands; the parts beside the account's own amount follow. */
function paidAccount(verb: string, data: DataOf<'ReceivablePaymentReceived'>, text: ValueText): string {
  const { kind, amount, interest, fine, discount, excess, paid_on, payment_method } = data
  if (kind === 'return') return `Devolução de mercadoria abateu ${formatMoney(amount)}`
  const parts = [
    ['juros', interest],
    ['multa', fine],
    ['desconto', discount],
    ['a mais', excess],
  ].flatMap(([name, value]) => (value === '0.00' ? [] : `${name} ${formatMoney(value as string)}`))
  const more = parts.length === 0 ? '' : ` (conta ${formatMoney(amount)}, ${parts.join(', ')})`
  const received = formatMoney(fromCents(sumReceived(data)))
  return `${verb} ${received}${more} em ${formatDay(paid_on)}${byMethod(payment_method, text)}`
}

/** Counted cash of a closing. */
function countedText(counted: DataOf<'CashSessionClosed'>['counted']): string {
  const cash = counted?.find(({ payment_type_id }) => payment_type_id === null)
  return cash ? `, com ${formatMoney(cash.amount)} contados` : ''
}

/** What happened, of events with a name that does not tell it alone. */
const SENTENCES: Sentences = {
  UserCreated: ({ role, role_name = role }, text) => `Usuário criado: ${text('role', role_name)}`,
  UserInvited: ({ role, role_name = role }, text) => `Usuário convidado: ${text('role', role_name)}`,
  RoleCreated: ({ role_name, permissions }) => `Perfil de acesso ${role_name} criado: ${permissions.length} permissões`,
  RoleRemoved: ({ role_name }) => `Perfil de acesso ${role_name} removido`,
  RoleAdjusted: ({ role, role_name = role, permissions }, text) =>
    `Perfil de acesso ${text('role', role_name)} ${permissions === null ? 'restaurado' : `alterado: ${permissions.length} permissões`}`,
  UserSecondFactorAdded: ({ method }, text) => `Verificação em duas etapas ativada: ${text('method', method)}`,
  UserSecondFactorRemoved: ({ method }, text) =>
    `Verificação em duas etapas removida${method === null ? '' : `: ${text('method', method)}`}`,
  ApiKeyCreated: ({ name, prefix }) => `Chave de API ${name} criada (${prefix}…)`,
  CatalogItemCreated: ({ price }) => `Item criado, por ${formatMoney(price)}`,
  CatalogItemUpdated: ({ price_change_id }) =>
    price_change_id === undefined ? 'Item alterado' : `Item alterado, na alteração de preços ${price_change_id}`,
  StockAdjusted: stockMoved,
  StockMovementRecorded: ({ kind, before, after }, text) =>
    `${text('kind', kind)}: ${before === null ? '' : `${formatQuantity(before)} → `}${formatQuantity(after)}`,
  PriceChangePlanned: ({ prices, starts_at }, text) =>
    `${prices.length === 1 ? 'Um preço' : `${prices.length} preços`} ${starts_at === null ? 'a mudar agora' : `a mudar em ${text('starts_at', starts_at)}`}`,
  PriceChangeApplied: ({ left }) => (left.length === 0 ? 'Preços alterados' : `Preços alterados, menos ${left.length}`),
  PriceChangeUndone: ({ left }) => (left.length === 0 ? 'Preços de volta' : `Preços de volta, menos ${left.length}`),
  GoodsReceiptUndone: ({ left }) =>
    left.length === 0
      ? 'Entrada desfeita'
      : `Entrada desfeita; ${left.length === 1 ? 'um custo ficou' : `${left.length} custos ficaram`} como estava${left.length === 1 ? '' : 'm'}`,
  InventoryOpened: ({ name }) => `Inventário aberto: ${name}`,
  InventoryCounted: ({ counts }) =>
    counts.length === 1 ? 'Um produto contado no inventário' : `${counts.length} produtos contados no inventário`,
  InventoryClosed: ({ status }) =>
    status === 'applied' ? 'Inventário aplicado ao estoque' : 'Inventário descartado, sem mudar o estoque',
  InventoryApplied: ({ stocks }) =>
    stocks.length === 1
      ? 'Um estoque corrigido pelo inventário'
      : `${stocks.length} estoques corrigidos pelo inventário`,
  SaleCompleted: ({ total }) => `Venda de ${formatMoney(total)}`,
  SaleRefunded: ({ amount, refunded }) =>
    amount.startsWith('-')
      ? `Estorno de ${formatMoney(amount.slice(1))} desfeito; estornado até agora: ${formatMoney(refunded)}`
      : `Estorno de ${formatMoney(amount)}; estornado até agora: ${formatMoney(refunded)}`,
  SaleRestocked: ({ order_id, items }) =>
    `Voltou do pedido ${order_id}: ${items.map(({ quantity, description }) => `${formatQuantity(quantity)} ${description}`).join(', ')}`,
  OfflineSaleCompleted: ({ total }) => `Venda de ${formatMoney(total)} recebida do caixa`,
  OfflineSaleCancelled: ({ total }) => `Venda de ${formatMoney(total)} recebida do caixa, já cancelada lá`,
  SaleCancelled: ({ reason, restock, approved_by, refunds = [] }) =>
    because(
      `Venda cancelada${approved(approved_by)}${goods(restock, ['voltou', 'voltaram'])}${moneyBack(refunds)}`,
      reason,
    ),
  SaleCancellationMoved: ({ cash_session_id: session }) =>
    session === null
      ? 'O dinheiro da venda cancelada não saiu de nenhuma gaveta conhecida'
      : `O dinheiro da venda cancelada saiu da gaveta ${session}`,
  SaleCustomerAssigned: ({ customer }) => `Cliente da venda informado: ${formatPersonName(customer.name)}`,
  SaleReturned: ({ sale_id, total, stock, reason, approved_by }) =>
    because(
      `Devolução de ${formatMoney(total)} da venda ${sale_id}${approved(approved_by)}${goods(stock, ['voltou', 'voltaram'])}`,
      reason,
    ),
  ReturnReversed: ({ sale_id, total, stock, reason, approved_by }) =>
    because(
      `Devolução de ${formatMoney(total)} da venda ${sale_id} desfeita${approved(approved_by)}${goods(stock, ['saiu de novo', 'saíram de novo'])}`,
      reason,
    ),
  RefusedReturnResolved: ({ note }) => because('Devolução recusada resolvida sem registro', note),
  FiscalDocumentRecorded: ({ number, status }, text) =>
    `Documento fiscal nº ${number}: ${text('status', status).toLowerCase()}`,
  ReturnDocumentRecorded: ({ number, status }, text) =>
    `Documento fiscal da devolução, nº ${number}: ${text('status', status).toLowerCase()}`,
  CashSessionOpened: ({ amount, reason }) => because(`Gaveta aberta com ${formatMoney(amount)}`, reason),
  CashMoved: ({ kind, amount, reason }, text) => because(`${text('kind', kind)}: ${formatMoney(amount)}`, reason),
  CashSessionClosed: ({ counted, reason }) => because(`Gaveta fechada${countedText(counted)}`, reason),
  CashDifferenceExplained: ({ reason, note, difference }, text) =>
    because(`Diferença de ${formatMoney(difference)} explicada: ${text('reason', reason)}`, note),
  RefusedCashMovementResolved: ({ note }) => because('Movimento recusado resolvido sem registro', note),
  TillRegistered: ({ id, name }) => `Caixa ${id} aberto em um aparelho: ${name}`,
  TillElementReceived: ({ id, number }) => `Caixa ${id}: registro ${number} recebido`,
  TillGapDetected: ({ id, missing }) => `Caixa ${id}: faltam os registros ${rangesText(missing)}`,
  TillElementsGivenUp: ({ id, from, to, reason }) =>
    because(`Caixa ${id}: registros ${rangesText([[from, to]])} dados por perdidos`, reason),
  TillEnded: ({ id }) => `Caixa ${id} encerrado`,
  ReceivableCreated: ({ amount, due_date }) =>
    `Conta de ${formatMoney(amount)} criada, vence em ${formatDay(due_date)}`,
  ReceivablePaymentReceived: (data, text) => paidAccount('Recebido', data, text),
  ReceivablePaymentReversed: ({ reason }) => because('Recebimento estornado', reason),
  ReceivableSettled: (data, text) => `Conta recebida ${settled(data, text)}`,
  PayableCreated: ({ amount, due_date }) => `Conta de ${formatMoney(amount)} criada, vence em ${formatDay(due_date)}`,
  PayablePaymentMade: (data, text) => paidAccount('Pago', data, text),
  PayablePaymentReversed: ({ reason }) => because('Pagamento estornado', reason),
  PayableSettled: (data, text) => `Conta paga ${settled(data, text)}`,
  WebhookRegistered: ({ url }) => `Webhook cadastrado: ${url}`,
  WebhookSwitchedOff: ({ reason }, text) => `Webhook desligado: ${text('reason', reason).toLowerCase()}`,
  StoreConnected: ({ account_id }) => `Loja conectada à conta ${account_id} do provedor`,
  StoreConnectionRefused: ({ reason }) => `O provedor recusou renovar a conexão: ${reason}`,
  OrderPlaced: ({ total }) => `Pedido de ${formatMoney(total)}`,
  PaymentStarted: ({ amount, expires_at }, _text, timezone) =>
    `Pagamento de ${formatMoney(amount)} iniciado${expires_at === undefined ? '' : `, vale até ${formatDateTime(expires_at, timezone)}`}`,
  PaymentRefused: ({ reason }) => `O provedor recusou o pagamento: ${reason}`,
  PaymentRecorded: ({ status, refunded }, text) =>
    `Pagamento no provedor: ${text('status', status).toLowerCase()}${refunded === undefined ? '' : `, ${formatMoney(refunded)} estornados`}`,
  OrderRefundRequested: ({ amount, restock }) =>
    `Estorno de ${formatMoney(amount)} solicitado${goods(restock, ['volta', 'voltam'])}`,
  OrderRefundRefused: ({ reason }) => `O provedor recusou o estorno: ${reason}`,
  OrderPartiallyRefunded: ({ refunded }) => `Estorno parcial do pedido: ${formatMoney(refunded)} até agora`,
  OrderAlarmRaised: ({ code }, text) => `Alerta: ${text('code', code).toLowerCase()}`,
  OrderCancelledByStore: ({ reason }) => because('Pedido cancelado pela loja', reason),
  CommissionSplit: ({ percentage, amount }) => `Comissão de ${formatPercentage(percentage)}: ${formatMoney(amount)}`,
  TestClockMoved: ({ by_ms }) => `Data da empresa de teste avançada em ${formatFraction(by_ms / 3_600_000, 2)} h`,
  PersonForgettingQueued: ({ due_on, keeps_contact }) =>
    `Exclusão de dados pessoais marcada para ${formatDay(due_on)}${keeps_contact ? '; contatos quando não houver conta em aberto' : ''}`,
}

/** An event in one sentence; fields that it changed are not in it. */
export function toSentence({ type, data }: Pick<Envelope, 'type' | 'data'>, timezone: string): string {
  const sentence = Object.hasOwn(SENTENCES, type) ? SENTENCES[type as EventName] : undefined
  const text: ValueText = (name, value) => textOfValue(name, value, timezone)
  return sentence ? (sentence as (...of: unknown[]) => string)(data, text, timezone) : eventName(type)
}

import { receivedCents } from '#domain/account-payments.ts'
import {
  formatDateTime,
  formatDay,
  formatFraction,
  formatMoney,
  formatPercentage,
  formatPersonName,
  formatQuantity,
} from '#domain/brazilian-format.ts'
import { fromCents } from '#domain/money.ts'
import type { DataOf, EventName } from '#events/catalogue.ts'
import type { Envelope } from '#ledger/envelope.ts'
import { eventName } from './events.ts'
import { textOfValue } from './values.ts'

/** Display text of a named value, in the company's time zone. */
type ValueText = (name: string, value: string) => string

type Sentences = { readonly [N in EventName]?: (data: DataOf<N>, text: ValueText, timezone: string) => string }

/** Adds a reason, if there is one. */
const because = (sentence: string, reason: string | null): string =>
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
  const received = formatMoney(fromCents(receivedCents(data)))
  return `${verb} ${received}${more} em ${formatDay(paid_on)}${byMethod(payment_method, text)}`
}

/** What happened, of events with a name that does not tell it alone. */
const SENTENCES: Sentences = {
  UserCreated: ({ role }, text) => `Usuário criado: ${text('role', role)}`,
  UserInvited: ({ role }, text) => `Usuário convidado: ${text('role', role)}`,
  RoleAdjusted: ({ role, permissions }, text) =>
    `Perfil de acesso ${text('role', role)} ${permissions === null ? 'restaurado' : `alterado: ${permissions.length} permissões`}`,
  UserSecondFactorAdded: ({ method }, text) => `Verificação em duas etapas ativada: ${text('method', method)}`,
  UserSecondFactorRemoved: ({ method }, text) =>
    `Verificação em duas etapas removida${method === null ? '' : `: ${text('method', method)}`}`,
  ApiKeyCreated: ({ name, prefix }) => `Chave de API ${name} criada (${prefix}…)`,
  CatalogItemCreated: ({ price }) => `Item criado, por ${formatMoney(price)}`,
  StockAdjusted: stockMoved,
  StockMovementRecorded: ({ kind, before, after }, text) =>
    `${text('kind', kind)}: ${before === null ? '' : `${formatQuantity(before)} → `}${formatQuantity(after)}`,
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
  CashSessionOpened: ({ session_id, amount }) => `Caixa ${session_id} aberto com ${formatMoney(amount)}`,
  CashMoved: ({ kind, amount, reason }, text) => because(`${text('kind', kind)}: ${formatMoney(amount)}`, reason),
  CashSessionClosed: ({ session_id, reason }) => because(`Caixa ${session_id} fechado`, reason),
  RefusedCashMovementResolved: ({ note }) => because('Movimento recusado resolvido sem registro', note),
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
export function sentenceOf({ type, data }: Pick<Envelope, 'type' | 'data'>, timezone: string): string {
  const sentence = Object.hasOwn(SENTENCES, type) ? SENTENCES[type as EventName] : undefined
  const text: ValueText = (name, value) => textOfValue(name, value, timezone)
  return sentence ? (sentence as (...of: unknown[]) => string)(data, text, timezone) : eventName(type)
}

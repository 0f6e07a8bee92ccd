import * as z from 'zod'
import { cancelSale } from '#commands/cancel-sale.ts'
import { FiscalDocumentFields, recordFiscalDocument } from '#commands/fiscal-document-commands.ts'
import { NamedSession } from '#commands/named-drawers.ts'
import { assignSaleCustomer } from '#commands/register-sale.ts'
import { isNoMoney, moneyTaken } from '#commands/returned-goods.ts'
import { fromCents } from '#domain/money.ts'
import { formatCents, formatDateTime, formatMoney } from '#domain/person-values.ts'
import type { Refusal } from '#domain/refusals.ts'
import { boundedText, Id } from '#domain/text.ts'
import { toHttpStatus } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import { ownValue } from '#lib/collections.ts'
import type { SaleObject } from '#projections/sales.ts'
import { getSale, getSaleTraces } from '#queries/sale-queries.ts'
import { recordChoiceInput } from '../forms/input-kinds.ts'
import { type Field, type Fields, reasonField } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { FormSubmission, PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { formPages, obstaclePage, offersApproval, runAndRedirect } from '../ui/form-pages.tsx'
import { Cancelled } from '../ui/head.tsx'
import { SEARCHED_CUSTOMER } from './debtor-pages.tsx'
import { drawerFields, GIVING_DRAWER } from './payment-form.tsx'
import { loadPaymentTypes } from './payment-type-pages.tsx'
import { partyField } from './person-form.tsx'
import { loadSale } from './sale-page.tsx'
import { FISCAL_DOCUMENT_FIELDS, isInForce } from './sale-parts.tsx'

const HAS_DOCUMENT = 'A venda tem documento fiscal em vigor: só pode ser cancelada depois que ele for cancelado.'

const RECEIVED =
  'Uma conta desta venda já foi recebida e o cancelamento não desfaz o recebimento. A venda continua concluída.'

const RETURNED = 'Esta venda já tem devolução e não pode mais ser cancelada inteira.'
const PARTLY_RECEIVED =
  'Uma parte da conta a receber desta venda já foi recebida. Estorne o recebimento na conta, devolva o dinheiro e cancele de novo.'

const managedBy = (orderId: unknown): string =>
  `Esta venda é do pedido ${orderId} da loja online: estorne o pagamento na página do pedido para cancelá-la.`

const common = {
  section: 'sales',
  access: 'sell',
  subject: loadSale,
  back: ({ id }: SaleObject): string => `/vendas/${id}`,
} as const

/** Page of a refusal that the form cannot fix. */
const refusedPage = (sale: SaleObject, heading: string, obstacle: string, { refused }: Refusal): PanelPage => ({
  ...obstaclePage(`${heading} ${sale.id}`, obstacle, common.back(sale)),
  status: toHttpStatus(refused),
})

/** `refunds`: chosen payment types by those of the sale. */
const Cancelling = z.object({
  reason: boundedText(500),
  refunds: z.record(z.string(), Id.nullable()).nullish(),
  cash_session_id: NamedSession,
})

/** Money of the sale that goes back, in cents by payment type, and the types that it may go back by. */
async function moneyBackOf(sale: SaleObject, visit: PageContext) {
  const types = await loadPaymentTypes(visit)
  const taken = moneyTaken(sale, (id) => types.find((type) => type.id === id))
  return { taken, types: types.filter((type) => !isNoMoney(type)) }
}

/** A choice for each way in which the sale was paid, by default the same way, and the reason. */
async function cancellingFields(sale: SaleObject, visit: PageContext): Promise<Fields> {
  const { taken, types } = await moneyBackOf(sale, visit)
  const refunds = [...taken].map(([id, cents]): [string, Field] => {
    const paidBy = types.find((type) => type.id === id)
    const others = types.filter((type) => type !== paidBy).map(({ id, name }) => ({ value: String(id), label: name }))
    const kind = recordChoiceInput(others, paidBy ? `${paidBy.name}, como foi pago` : 'Escolha')
    // A till may have named a payment type that does not exist.
    return [`refunds.${id}`, { label: `Devolver ${formatCents(cents)} em`, kind, isRequired: paidBy === undefined }]
  })
  const asked = { label: GIVING_DRAWER, own: sale.cash_session_id }
  const drawers = taken.size === 0 ? {} : await drawerFields(visit, asked)
  return { ...Object.fromEntries(refunds), ...drawers, reason: reasonField('Fica no histórico da venda.') }
}

/** The refunds by the chosen payment types, those by the same type in one sum. */
async function refundsOfForm({ refunds }: z.infer<typeof Cancelling>, sale: SaleObject, visit: PageContext) {
  const { taken } = await moneyBackOf(sale, visit)
  const sums = new Map<number, number>()
  for (const [id, cents] of taken) {
    const by = refunds?.[id] ?? id
    sums.set(by, (sums.get(by) ?? 0) + cents)
  }
  return [...sums].map(([payment_type_id, cents]) => ({ payment_type_id, amount: fromCents(cents) }))
}

const CANCEL_REFUSALS: Readonly<Record<string, string>> = {
  fiscal_document_issued: HAS_DOCUMENT,
  already_settled: RECEIVED,
  has_payments: PARTLY_RECEIVED,
  sale_returned: RETURNED,
}

const cancelPages = formPages({
  ...common,
  path: '/vendas/:id/cancelar',
  title: ({ id }) => `Cancelar venda ${id}`,
  label: 'Cancelar venda',
  isDangerous: true,
  before: (sale, visit) =>
    Cancelled({ visit, when: ['Data da venda', formatDateTime(sale.sold_at, visit.readModel.timezone)], of: sale }),
  intro: () => (
    <p>
      Os itens voltam ao estoque e as contas a receber da venda são excluídas. O Tillbook registra como o dinheiro foi
      devolvido; faça o estorno de cartão ou Pix na maquininha ou no banco. Esta ação não pode ser desfeita.
    </p>
  ),
  fields: cancellingFields,
  schema: Cancelling,
  needsApproval: ({ seller }, visit) =>
    offersApproval(visit, seller?.user_id === visit.session.userId ? 'cancel_own' : 'cancel_all'),
  obstacle({ status, fiscal_document, order_id, returned_total }) {
    if (returned_total !== '0.00') return RETURNED
    if (status === 'cancelled') return 'A venda já está cancelada.'
    if (order_id !== null) return managedBy(order_id)
    return isInForce(fiscal_document) ? HAS_DOCUMENT : null
  },
  async act(submission, sale, typed) {
    const { reason, cash_session_id } = typed
    const refunds = await refundsOfForm(typed, sale, submission)
    const answer = await submission.run(cancelSale, { id: sale.id, reason, cash_session_id, refunds })
    if (!isRefusal(answer)) return { to: common.back(sale), flash: 'cancelada' as const }
    const { refused, details } = answer
    const obstacle = refused === 'managed_by_order' ? managedBy(details?.order_id) : ownValue(CANCEL_REFUSALS, refused)
    return obstacle === undefined ? answer : refusedPage(sale, 'Cancelar venda', obstacle, answer)
  },
})

const CANCELLED = 'Uma venda cancelada não recebe documento fiscal.'
const OTHER_DOCUMENT = 'A venda já tem outro documento fiscal, que primeiro precisa ser cancelado.'

/** The sale or return that has the document, as far as the user may see it. */
async function documentHolder({ refused, details = {} }: Refusal, { readModel, reaches }: FormSubmission) {
  const { conflicting_id: id, return_id } = details
  if (refused !== 'duplicate_resource' || typeof id !== 'number') return undefined
  if ((await getSale(readModel.reader, id)).record === null)
    return 'Este documento fiscal já está em uma venda que seu perfil de acesso não mostra.'
  const path = typeof return_id === 'number' ? `/devolucoes/${return_id}` : null
  return (
    <>
      {'Este documento fiscal já está na '}
      {path !== null &&
        (reaches('GET', path) ? <a href={link(path)}>devolução {return_id}</a> : `devolução ${return_id}`)}
      {path !== null && ' da '}
      <a href={link(`/vendas/${id}`)}>venda {id}</a>
      {'.'}
    </>
  )
}

const documentPages = formPages({
  ...common,
  path: '/vendas/:id/documento-fiscal',
  title: ({ id }) => `Registrar documento fiscal da venda ${id}`,
  label: 'Registrar documento fiscal',
  intro: () => (
    <p>
      Registre aqui o documento que o seu sistema fiscal emitiu para esta venda. Enquanto ele estiver autorizado ou em
      contingência, a venda não pode ser cancelada.
    </p>
  ),
  fields: () => FISCAL_DOCUMENT_FIELDS,
  initial: ({ fiscal_document }) => (isInForce(fiscal_document) ? fiscal_document : { status: 'authorized' }) ?? {},
  schema: FiscalDocumentFields,
  problem: documentHolder,
  obstacle: ({ status }) => (status === 'cancelled' ? CANCELLED : null),
  async act(submission, sale, input) {
    const answer = await submission.run(recordFiscalDocument, { ...input, id: sale.id })
    if (!isRefusal(answer)) return { to: common.back(sale), flash: 'documento-fiscal' as const }
    const isCancelled = Object.hasOwn(Object(answer.details?.fields), 'sale')
    const obstacle = answer.refused === 'fiscal_document_issued' ? OTHER_DOCUMENT : isCancelled && CANCELLED
    return obstacle ? refusedPage(sale, 'Registrar documento fiscal da venda', obstacle, answer) : answer
  },
})

export const saleActions: readonly PanelRoute[] = [...cancelPages, ...documentPages]

interface CreditSale {
  readonly sale: SaleObject
  readonly isOnCredit: boolean
}

async function creditSaleOf(visit: PageContext): Promise<CreditSale | null> {
  const { reader } = visit.readModel
  const sale = await loadSale(visit)
  const traces = sale && (await getSaleTraces(reader, sale.id))
  return sale && traces && { sale, isOnCredit: traces.receivables.length > 0 }
}

const back = ({ sale }: CreditSale): string => `/vendas/${sale.id}`

/** Gives a customer to a sale on credit that was made without one. */
export const saleCustomerPages: readonly PanelRoute[] = formPages<CreditSale, { customer_id: number }>({
  path: '/vendas/:id/cliente',
  section: 'sales',
  access: 'edit_receivables',
  subject: creditSaleOf,
  obstacle({ sale: { customer, status }, isOnCredit }) {
    if (customer !== null) return 'Esta venda já tem cliente.'
    if (status === 'cancelled') return 'A venda está cancelada.'
    return isOnCredit ? null : 'Só uma venda a prazo recebe o cliente depois.'
  },
  title: ({ sale }) => `Cliente da venda ${sale.id}`,
  label: 'Informar cliente',
  back,
  before: ({ sale: { sold_at, total } }, { readModel }) => (
    <p>{`Venda de ${formatMoney(total)}, em ${formatDateTime(sold_at, readModel.timezone)}.`}</p>
  ),
  intro: () => <p>As contas a receber desta venda passam a ser do cliente. O resto da venda não muda.</p>,
  fields: async ({ sale: { id } }, visit) => {
    const field = await partyField(visit, SEARCHED_CUSTOMER, { path: `/vendas/${id}/cliente` })
    return { customer_id: { ...field, isRequired: true, hint: 'Procure pelo nome, CPF ou CNPJ, ou telefone.' } }
  },
  schema: z.object({ customer_id: Id }),
  act: (submission, subject, { customer_id }) =>
    runAndRedirect(
      submission,
      assignSaleCustomer,
      { id: subject.sale.id, customer_id },
      { to: back(subject), flash: 'cliente-da-venda' },
    ),
})

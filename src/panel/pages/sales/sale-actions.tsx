import type { ComponentChildren } from 'preact'
import { z } from 'zod'
import { NamedSession } from '#commands/cash/named-session.ts'
import { type CancelSaleInput, cancelSale } from '#commands/sales/cancel-sale.ts'
import {
  FiscalDocumentFields,
  type FiscalDocumentInput,
  recordFiscalDocument,
} from '#commands/sales/record-fiscal-document.ts'
import { isNoMoney, moneyTaken } from '#commands/sales/sale-refunds.ts'
import { formatCents, formatDateTime } from '#domain/brazilian-format.ts'
import { fromCents } from '#domain/money.ts'
import type { Permission } from '#domain/permissions.ts'
import type { Refusal } from '#domain/refusal.ts'
import { boundedText, Id } from '#domain/text.ts'
import { httpStatusOf } from '#http/problems.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import type { SaleObject } from '#projections/sales.ts'
import { offersApproval } from '../../approval.ts'
import type { Field, Fields } from '../../forms/form.ts'
import { paragraphInput, recordChoiceInput } from '../../forms/kinds.ts'
import type { PageAccess, PageContext, PanelRoute } from '../../route.ts'
import { Cancelled } from '../../ui/cancelled.tsx'
import { formPages, obstaclePage } from '../../ui/form-pages.tsx'
import type { FlashCode } from '../../words/flashes.ts'
import { drawerFields } from '../cash/session-field.ts'
import { paymentTypesOf } from '../payment-types.tsx'
import { FISCAL_DOCUMENT_FIELDS, isInForce } from './fiscal-document.tsx'
import { saleOf } from './sale.tsx'

/** An action on a sale with a confirmation page. */
interface SaleAction<I, C = I> {
  /** Last segment of its path. */
  readonly path: string
  readonly label: string
  /** Title of the page, before the number of the sale. */
  readonly heading: string
  readonly explanation: string
  readonly isDangerous?: true
  fields(sale: SaleObject, visit: PageContext): Fields | Promise<Fields>
  /** Content of the confirmation page. */
  about?(sale: SaleObject, visit: PageContext): ComponentChildren
  /** Initial field values. */
  initial?(sale: SaleObject): object
  readonly access: PageAccess
  readonly schema: z.ZodType<I>
  readonly command: Command<C & { id: number }>
  /** Input of the command from that of the form. */
  inputOf(typed: I, sale: SaleObject, visit: PageContext): C | Promise<C>
  readonly flash: FlashCode
  /** Permission for this sale, which another user may approve. */
  needs?(sale: SaleObject, userId: number): Permission
  /** Why the sale's state rules the action out; null if it does not. */
  obstacle(sale: SaleObject): string | null
  /** Message of a refusal that the form cannot fix; undefined if it can. */
  meaningOf(refusal: Refusal): string | undefined
}

const HAS_DOCUMENT = 'A venda tem documento fiscal em vigor: só pode ser cancelada depois que ele for cancelado.'

const RECEIVED =
  'Uma conta desta venda já foi recebida e o cancelamento não desfaz o recebimento. A venda continua concluída.'

const RETURNED = 'Esta venda já tem devolução e não pode mais ser cancelada inteira.'
const PARTLY_RECEIVED =
  'Uma parte da conta a receber desta venda já foi recebida. Estorne o recebimento na conta, devolva o dinheiro e cancele de novo.'

const managedBy = (orderId: unknown): string =>
  `Esta venda é do pedido ${orderId} da loja online: estorne o pagamento na página do pedido para cancelá-la.`

const CancelledSale = (sale: SaleObject, { readModel }: PageContext) => (
  <Cancelled when={['Data da venda', formatDateTime(sale.sold_at, readModel.timezone)]} of={sale} />
)

/** `refunds`: chosen payment types by those of the sale. */
const Cancelling = z.object({
  reason: boundedText(500),
  refunds: z.record(z.string(), Id.nullable()).nullish(),
  cash_session_id: NamedSession,
})

/** Money of the sale that goes back, in cents by payment type, and the types that it may go back by. */
async function moneyBackOf(sale: SaleObject, visit: PageContext) {
  const types = await paymentTypesOf(visit)
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
  const drawers = taken.size === 0 ? {} : await drawerFields(visit, sale.cash_session_id)
  return { ...Object.fromEntries(refunds), ...drawers, ...REASON }
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

const REASON: Fields = {
  reason: {
    label: 'Motivo',
    kind: paragraphInput,
    isRequired: true,
    columns: 12,
    hint: 'Fica no histórico da venda.',
  },
}

const cancelling: SaleAction<z.infer<typeof Cancelling>, Omit<CancelSaleInput, 'id'>> = {
  path: 'cancelar',
  access: 'sell',
  label: 'Cancelar venda',
  heading: 'Cancelar venda',
  explanation:
    'Os itens voltam ao estoque e as contas a receber da venda são excluídas. O Tillbook registra como o dinheiro foi devolvido; faça o estorno de cartão ou Pix na maquininha ou no banco. Esta ação não pode ser desfeita.',
  isDangerous: true,
  about: CancelledSale,
  fields: cancellingFields,
  schema: Cancelling,
  command: cancelSale,
  inputOf: async (typed, sale, visit) => ({
    reason: typed.reason,
    cash_session_id: typed.cash_session_id,
    refunds: await refundsOfForm(typed, sale, visit),
  }),
  flash: 'cancelada',
  needs: ({ seller }, userId) => (seller?.user_id === userId ? 'cancel_own' : 'cancel_all'),
  obstacle({ status, fiscal_document, order_id, returned_total }) {
    if (returned_total !== '0.00') return RETURNED
    if (status === 'cancelled') return 'A venda já está cancelada.'
    if (order_id !== null) return managedBy(order_id)
    return isInForce(fiscal_document) ? HAS_DOCUMENT : null
  },
  meaningOf: ({ refused, details }) =>
    refused === 'managed_by_order'
      ? managedBy(details?.order_id)
      : {
          fiscal_document_issued: HAS_DOCUMENT,
          already_settled: RECEIVED,
          has_payments: PARTLY_RECEIVED,
          sale_returned: RETURNED,
        }[refused as string],
}

const CANCELLED = 'Uma venda cancelada não recebe documento fiscal.'
const OTHER_DOCUMENT = 'A venda já tem outro documento fiscal, que primeiro precisa ser cancelado.'

const recordingDocument: SaleAction<Omit<FiscalDocumentInput, 'id'>> = {
  path: 'documento-fiscal',
  access: 'sell',
  label: 'Registrar documento fiscal',
  heading: 'Registrar documento fiscal da venda',
  explanation:
    'Registre aqui o documento que o seu sistema fiscal emitiu para esta venda. Enquanto ele estiver autorizado ou em contingência, a venda não pode ser cancelada.',
  fields: () => FISCAL_DOCUMENT_FIELDS,
  initial: ({ fiscal_document }) => (isInForce(fiscal_document) ? fiscal_document : { status: 'authorized' }) ?? {},
  schema: FiscalDocumentFields,
  command: recordFiscalDocument,
  inputOf: (typed) => typed,
  flash: 'documento-fiscal',
  obstacle: ({ status }) => (status === 'cancelled' ? CANCELLED : null),
  meaningOf({ refused, details }) {
    if (refused === 'fiscal_document_issued') return OTHER_DOCUMENT
    return Object.hasOwn(Object(details?.fields), 'sale') ? CANCELLED : undefined
  },
}

export const saleActions: readonly PanelRoute[] = [...routesOf(cancelling), ...routesOf(recordingDocument)]

function routesOf<I, C>(action: SaleAction<I, C>): PanelRoute[] {
  const { label, heading, explanation, fields, initial, schema, command, inputOf } = action
  const { flash, isDangerous, obstacle, meaningOf, about, needs } = action
  const title = ({ id }: SaleObject) => `${heading} ${id}`
  const back = ({ id }: Pick<SaleObject, 'id'>) => `/vendas/${id}`
  return formPages({
    path: `/vendas/:id/${action.path}`,
    section: 'sales',
    access: action.access,
    subject: saleOf,
    obstacle,
    title,
    ...(about && { before: about }),
    intro: () => <p>{explanation}</p>,
    label,
    ...(isDangerous && { isDangerous }),
    back,
    fields,
    ...(needs && {
      needsApproval: (sale: SaleObject, visit: PageContext) => offersApproval(visit, needs(sale, visit.session.userId)),
    }),
    ...(initial && { initial }),
    schema,
    async act(submission, sale, input) {
      const answer = await submission.run(command, { ...(await inputOf(input, sale, submission)), id: sale.id })
      if (!isRefusal(answer)) return { to: back(sale), flash }
      const meaning = meaningOf(answer)
      if (meaning === undefined) return answer
      return { ...obstaclePage(title(sale), meaning, back(sale)), status: httpStatusOf(answer.refused) }
    },
  })
}

import type { ComponentChildren } from 'preact'
import type { z } from 'zod'
import { CancelSaleInput, cancelSale } from '#commands/sales/cancel-sale.ts'
import {
  FiscalDocumentFields,
  type FiscalDocumentInput,
  recordFiscalDocument,
} from '#commands/sales/record-fiscal-document.ts'
import { formatDateTime } from '#domain/brazilian-format.ts'
import type { Refusal } from '#domain/refusal.ts'
import { boundedText } from '#domain/text.ts'
import { httpStatusOf } from '#http/problems.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import type { SaleObject } from '#projections/sales.ts'
import type { Fields } from '../../forms/form.ts'
import { paragraphInput } from '../../forms/kinds.ts'
import type { PageAccess, PageContext, PanelRoute } from '../../route.ts'
import { Cancelled } from '../../ui/cancelled.tsx'
import { formPages, obstaclePage } from '../../ui/form-pages.tsx'
import type { FlashCode } from '../../words/flashes.ts'
import { FISCAL_DOCUMENT_FIELDS, isInForce } from './fiscal-document.tsx'
import { saleOf } from './sale.tsx'

/** An action on a sale with a confirmation page. */
interface SaleAction<I> {
  /** Last segment of its path. */
  readonly path: string
  readonly label: string
  readonly explanation: string
  readonly isDangerous?: true
  readonly fields: Fields
  /** Content of the confirmation page. */
  about?(sale: SaleObject, visit: PageContext): ComponentChildren
  /** Initial field values. */
  initial?(sale: SaleObject): object
  readonly access: PageAccess
  readonly schema: z.ZodType<I>
  readonly command: Command<I & { id: number }>
  readonly flash: FlashCode
  /** Why the sale's state rules the action out; null if it does not. */
  obstacle(sale: SaleObject): string | null
  /** Message of a refusal that the form cannot fix; undefined if it can. */
  meaningOf(refusal: Refusal): string | undefined
}

const HAS_DOCUMENT = 'A venda tem documento fiscal em vigor: só pode ser cancelada depois que ele for cancelado.'

const RECEIVED =
  'Uma conta a receber desta venda já foi liquidada: um cancelamento não desfaz o que foi recebido. A venda continua concluída.'

const managedBy = (orderId: unknown): string =>
  `Esta venda é do pedido ${orderId} da loja online: devolva o pagamento na página do pedido, e ela será cancelada.`

const CancelledSale = (sale: SaleObject, { readModel }: PageContext) => (
  <Cancelled when={['Data da venda', formatDateTime(sale.sold_at, readModel.timezone)]} of={sale} />
)

const Cancelling = CancelSaleInput.omit({ id: true }).extend({ reason: boundedText(500) })

const cancelling: SaleAction<z.infer<typeof Cancelling>> = {
  path: 'cancelar',
  access: 'sell',
  label: 'Cancelar venda',
  explanation:
    'Os itens voltam ao estoque, e as contas a receber que a venda gerou são excluídas. Um cancelamento não pode ser desfeito.',
  isDangerous: true,
  about: CancelledSale,
  fields: {
    reason: {
      label: 'Motivo',
      kind: paragraphInput,
      isRequired: true,
      columns: 12,
      hint: 'Fica no histórico da venda.',
    },
  },
  schema: Cancelling,
  command: cancelSale,
  flash: 'cancelada',
  obstacle({ status, fiscal_document, order_id }) {
    if (status === 'cancelled') return 'A venda já está cancelada.'
    if (order_id !== null) return managedBy(order_id)
    return isInForce(fiscal_document) ? HAS_DOCUMENT : null
  },
  meaningOf: ({ refused, details }) =>
    refused === 'managed_by_order'
      ? managedBy(details?.order_id)
      : { fiscal_document_issued: HAS_DOCUMENT, already_settled: RECEIVED }[refused as string],
}

const CANCELLED = 'Uma venda cancelada não recebe documento fiscal.'
const OTHER_DOCUMENT = 'A venda já tem outro documento fiscal, que primeiro precisa ser cancelado.'

const recordingDocument: SaleAction<Omit<FiscalDocumentInput, 'id'>> = {
  path: 'documento-fiscal',
  access: 'sell',
  label: 'Registrar documento fiscal',
  explanation:
    'Registre aqui o documento que o seu sistema fiscal emitiu para esta venda. Enquanto ele estiver autorizado ou em contingência, a venda não pode ser cancelada.',
  fields: FISCAL_DOCUMENT_FIELDS,
  initial: ({ fiscal_document }) => (isInForce(fiscal_document) ? fiscal_document : { status: 'authorized' }) ?? {},
  schema: FiscalDocumentFields,
  command: recordFiscalDocument,
  flash: 'documento-fiscal',
  obstacle: ({ status }) => (status === 'cancelled' ? CANCELLED : null),
  meaningOf({ refused, details }) {
    if (refused === 'fiscal_document_issued') return OTHER_DOCUMENT
    return Object.hasOwn(Object(details?.fields), 'sale') ? CANCELLED : undefined
  },
}

export const saleActions: readonly PanelRoute[] = [...routesOf(cancelling), ...routesOf(recordingDocument)]

function routesOf<I>(action: SaleAction<I>): PanelRoute[] {
  const { label, explanation, fields, initial, schema, command, flash, isDangerous, obstacle, meaningOf, about } =
    action
  const title = ({ id }: SaleObject) => `${label}: ${id}`
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
    fields: () => fields,
    ...(initial && { initial }),
    schema,
    async act(submission, sale, input) {
      const answer = await submission.run(command, { ...input, id: sale.id })
      if (!isRefusal(answer)) return { to: back(sale), flash }
      const meaning = meaningOf(answer)
      if (meaning === undefined) return answer
      return { ...obstaclePage(title(sale), meaning, back(sale)), status: httpStatusOf(answer.refused) }
    },
  })
}

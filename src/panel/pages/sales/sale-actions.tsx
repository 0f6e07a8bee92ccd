import type { z } from 'zod'
import { authorizeFiscalDocument, FiscalDocumentInput } from '#commands/sales/authorize-fiscal-document.ts'
import { CancelSaleInput, cancelSale } from '#commands/sales/cancel-sale.ts'
import type { RefusalCode } from '#domain/refusal.ts'
import { statusOf } from '#http/problems.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import type { SaleObject } from '#projections/sales.ts'
import type { Fields } from '../../forms/form.ts'
import { line, paragraph } from '../../forms/kinds.ts'
import type { PanelRoute } from '../../route.ts'
import { formPages, obstaclePage } from '../../ui/form-pages.tsx'
import type { FlashCode } from '../../words/flashes.ts'
import { saleOf } from './sale.tsx'

/** Something that is done with a sale after asking. */
interface SaleAction<I> {
  /** Last part of its path. */
  readonly path: string
  readonly label: string
  readonly explanation: string
  readonly isDangerous?: true
  readonly fields: Fields
  readonly schema: z.ZodType<I>
  readonly command: Command<I & { id: number }>
  readonly flash: FlashCode
  /** Why it cannot be done with a sale as it stands, before anybody has tried; null where it can. */
  obstacle(sale: SaleObject): string | null
  readonly refusals: Partial<Record<RefusalCode, string>>
}

const HAS_DOCUMENT = 'A venda tem documento fiscal autorizado e não pode mais ser cancelada.'

const cancelling: SaleAction<Omit<CancelSaleInput, 'id'>> = {
  path: 'cancelar',
  label: 'Cancelar venda',
  explanation:
    'Os itens voltam ao estoque, e as contas a receber que a venda gerou são excluídas. Um cancelamento não pode ser desfeito.',
  isDangerous: true,
  fields: { reason: { label: 'Motivo', kind: paragraph, columns: 12, hint: 'Fica no histórico da venda.' } },
  schema: CancelSaleInput.omit({ id: true }),
  command: cancelSale,
  flash: 'cancelada',
  obstacle({ status, fiscal_document }) {
    if (status === 'cancelled') return 'A venda já está cancelada.'
    return fiscal_document ? HAS_DOCUMENT : null
  },
  refusals: {
    fiscal_document_issued: HAS_DOCUMENT,
    already_settled:
      'Uma conta a receber desta venda já foi liquidada: um cancelamento não desfaz o que foi recebido. A venda continua concluída.',
  },
}

const authorizing: SaleAction<Omit<FiscalDocumentInput, 'id'>> = {
  path: 'documento-fiscal',
  label: 'Registrar documento fiscal',
  explanation:
    'Registre aqui o documento que o seu sistema fiscal autorizou para esta venda. Depois disso ela não pode mais ser cancelada.',
  fields: { number: { label: 'Número do documento', kind: line, isRequired: true, columns: 6 } },
  schema: FiscalDocumentInput.omit({ id: true }),
  command: authorizeFiscalDocument,
  flash: 'documento-fiscal',
  obstacle({ status, fiscal_document }) {
    if (status === 'cancelled') return 'Uma venda cancelada não recebe documento fiscal.'
    return fiscal_document ? `A venda já tem o documento fiscal ${fiscal_document.number}.` : null
  },
  refusals: {
    fiscal_document_issued: 'A venda já tem outro documento fiscal.',
    validation_failed: 'Uma venda cancelada não recebe documento fiscal.',
  },
}

export const saleActions: readonly PanelRoute[] = [...routesOf(cancelling), ...routesOf(authorizing)]

function routesOf<I>(action: SaleAction<I>): PanelRoute[] {
  const { label, explanation, fields, schema, command, flash, isDangerous, obstacle, refusals } = action
  const title = ({ id }: SaleObject) => `${label}: ${id}`
  const back = ({ id }: Pick<SaleObject, 'id'>) => `/vendas/${id}`
  return formPages({
    path: `/vendas/:id/${action.path}`,
    section: 'sales',
    subject: saleOf,
    obstacle,
    title,
    intro: () => <p>{explanation}</p>,
    label,
    ...(isDangerous && { isDangerous }),
    back,
    fields: () => fields,
    schema,
    async act(submission, sale, input) {
      const answer = await submission.run(command, { ...input, id: sale.id })
      if (!isRefusal(answer)) return { to: back(sale), flash }
      const meaning = refusals[answer.refused]
      if (meaning === undefined) return answer
      return { ...obstaclePage(title(sale), meaning, back(sale)), status: statusOf(answer.refused) }
    },
  })
}

import type { z } from 'zod'
import { authorizeFiscalDocument, FiscalDocumentInput } from '../../../../commands/sales/authorize-fiscal-document.ts'
import { CancelSaleInput, cancelSale } from '../../../../commands/sales/cancel-sale.ts'
import type { SaleObject } from '../../../../projections/sales.ts'
import type { RefusalCode } from '../../../domain/refusal.ts'
import { type Command, isRefusal } from '../../../ledger/command.ts'
import { statusOf } from '../../problems.ts'
import { checked, type Fields, type Filled, filledWith } from '../forms/form.ts'
import { line, paragraph } from '../forms/kinds.ts'
import type { Page, PanelRoute, Redirect, Submission, Visit } from '../route.ts'
import { Form } from '../ui/form.tsx'
import { ButtonLink } from '../ui/parts.tsx'
import type { NoticeCode } from '../words/notices.ts'
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
  readonly notice: NoticeCode
  /** Why it cannot be done with a sale as it stands, before anybody has tried; null where it can. */
  obstacle(sale: SaleObject): string | null
  /** What a refusal means here. */
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
  notice: 'cancelada',
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
  notice: 'documento-fiscal',
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
  const at = { path: `/vendas/:id/${action.path}`, section: 'sales' } as const
  return [
    { ...at, show: (visit) => withSale(visit, (sale) => ask(action, visit, sale)) },
    { ...at, submit: (submission) => withSale(submission, (sale) => act(action, submission, sale)) },
  ]
}

async function withSale<T>(visit: Visit, work: (sale: SaleObject) => T | Promise<T>): Promise<T | null> {
  const sale = await saleOf(visit)
  return sale && work(sale)
}

function ask<I>(action: SaleAction<I>, visit: Visit, sale: SaleObject): Page {
  const obstacle = action.obstacle(sale)
  return obstacle === null ? formPage(action, visit, sale) : obstaclePage(action, sale, obstacle)
}

const titleOf = <I,>({ label }: SaleAction<I>, { id }: SaleObject): string => `${label}: ${id}`

function formPage<I>(action: SaleAction<I>, visit: Visit, sale: SaleObject, filled?: Filled, status?: number): Page {
  const { path, label, explanation, fields, isDangerous } = action
  const here = `/vendas/${sale.id}`
  const body = (
    <Form
      visit={visit}
      to={`${here}/${path}`}
      label={label}
      fields={fields}
      filled={filled}
      isDangerous={isDangerous}
      back={here}
    >
      <p>{explanation}</p>
    </Form>
  )
  return { title: titleOf(action, sale), body, status }
}

/** It is said at once, rather than when somebody has filled in the form. */
function obstaclePage<I>(action: SaleAction<I>, sale: SaleObject, obstacle: string, status?: number): Page {
  const body = (
    <>
      <p class="problem" role="alert">
        {obstacle}
      </p>
      <ButtonLink to={`/vendas/${sale.id}`}>Voltar</ButtonLink>
    </>
  )
  return { title: titleOf(action, sale), body, status }
}

async function act<I>(action: SaleAction<I>, submission: Submission, sale: SaleObject): Promise<Page | Redirect> {
  const { fields, schema, command, notice, refusals } = action
  const { form, books } = submission
  const parsed = checked(schema, fields, form, books.timezone)
  if ('filled' in parsed) return formPage(action, submission, sale, parsed.filled, 422)
  const answer = await submission.run(command, { ...parsed.input, id: sale.id })
  if (!isRefusal(answer)) return { to: `/vendas/${sale.id}`, notice }
  const status = statusOf(answer.refused)
  const meaning = refusals[answer.refused]
  if (meaning !== undefined) return obstaclePage(action, sale, meaning, status)
  return formPage(action, submission, sale, filledWith(fields, form, answer), status)
}

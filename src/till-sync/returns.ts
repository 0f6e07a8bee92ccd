import { OfflineReturnInput } from '#commands/sales/offline-return-input.ts'
import { recordOfflineReturn } from '#commands/sales/record-offline-return.ts'
import type { Refusal } from '#domain/refusal.ts'
import { refuseInvalid } from '#domain/validation.ts'
import { sendBytes } from '#http/answer.ts'
import { parseInput } from '#http/problems.ts'
import { type Invocation, invoke } from '#ledger/command.ts'
import { parseSubject } from '#ledger/projection.ts'
import { createTimeSlicer } from '#lib/time-slicing.ts'
import type { OfflineReturnWarning } from '#projections/returns.ts'
import type { Services } from '#services.ts'
import { tillSessionOf } from './auth.ts'
import { composeListAnswer } from './list-answer.ts'
import { SYNC_OPERATIONS } from './operations.ts'
import { UploadedReturns } from './requests.ts'
import type { SyncRoute } from './route.ts'
import {
  type ElementResult,
  FAULT_MESSAGE,
  fieldsOf,
  isNotRecorded,
  type NotRecorded,
  runUpload,
} from './run-upload.ts'
import { offlineIdOf } from './upload.ts'

/** Result of an uploaded return. */
interface ReturnResult {
  /** As sent, a number as its text; null if it was neither. */
  readonly offline_id: string | null
  readonly status: 'created' | 'duplicate' | 'error'
  readonly return_id: number | null
  readonly [field: string]: unknown
}

/** Uploads returns of tills (UP-100): each is recorded or refused on its own, and the answer is always 200. */
export const returnsRoute = ({ writer, log }: Pick<Services, 'writer' | 'log'>): SyncRoute => ({
  ...SYNC_OPERATIONS.returns,
  async handle(request, response) {
    const session = tillSessionOf(response)
    const { returns } = parseInput(UploadedReturns, request.body)
    const done = await runUpload({ writer, log, session, response }, returns, readReturn)
    const results = done.map((result, position) => resultOf(returns[position], result))
    const slices = createTimeSlicer(session.companyId)
    sendBytes(response, 200, await composeListAnswer(results, messageOf(results), slices))
  },
})

/** The command of a return, or the refusal of an invalid one. */
function readReturn(sent: unknown): Invocation | Refusal {
  const { data, error } = OfflineReturnInput.safeParse(sent)
  return error ? refuseInvalid(error) : invoke(recordOfflineReturn, data)
}

function resultOf(sent: unknown, result: ElementResult): ReturnResult {
  const offline_id = offlineIdOf(sent)
  if (isNotRecorded(result))
    return { offline_id, status: 'error', return_id: null, code: result.refused, ...textOf(result) }
  const { warnings, isAwaited } = result.remarks as {
    warnings: readonly OfflineReturnWarning[]
    isAwaited?: boolean
  }
  return {
    offline_id,
    status: result.outcome === 'created' ? 'created' : 'duplicate',
    return_id: parseSubject(result.subject).id,
    ...(isAwaited && { awaits_sale: true }),
    ...(warnings.length > 0 && { warnings: warnings.map(shownWarning) }),
  }
}

/** Message of a refused return, and its invalid fields. */
function textOf(refusal: NotRecorded): { message: string; errors: Record<string, string[]> } {
  const { refused, details } = refusal
  if (refused === 'internal_error') return { message: FAULT_MESSAGE, errors: {} }
  if (refused === 'duplicate_resource') {
    const errors = { offline_id: [`já usado pela devolução ${details?.conflicting_id}, que é diferente`] }
    return { message: 'Outra devolução já foi enviada com este offline_id.', errors }
  }
  if (refused === 'managed_by_order') {
    const errors = { sale_id: [`é do pedido ${details?.order_id}: estorne o pedido`] }
    return { message: 'A venda é de um pedido da loja online: estorne o pedido.', errors }
  }
  return { message: 'A devolução tem dados inválidos e não foi registrada.', errors: fieldsOf(refusal) }
}

const MESSAGES: Readonly<Record<OfflineReturnWarning['code'], (found: string, expected: string) => string>> = {
  returned_more: (found, expected) => `Voltou mais do que restava do item: ${found} de ${expected}.`,
  refund_differs: (found, expected) => `O valor devolvido, ${found}, difere do devido, ${expected}.`,
  sale_cancelled: () => 'A venda está cancelada.',
  receivable_open: (found, expected) => `Da venda a prazo baixaram ${found}, e deveriam baixar ${expected}.`,
  credit_without_customer: (found) =>
    found === ''
      ? 'Há crédito de troca sem cliente: o crédito não foi registrado.'
      : `O cliente ${found} não existe mais: o crédito de troca não foi registrado.`,
  returned_at_in_future: (found) => `A data da devolução, ${found}, está no futuro: confira o relógio do caixa.`,
}

function shownWarning({ code, line, found, expected }: OfflineReturnWarning): object {
  return {
    code,
    message: MESSAGES[code](found ?? '', expected ?? ''),
    ...(line !== null && { line }),
    ...(found !== null && { found }),
    ...(expected !== null && { expected }),
  }
}

const countOf = (results: readonly ReturnResult[], status: ReturnResult['status']): number =>
  results.filter((result) => result.status === status).length

function messageOf(results: readonly ReturnResult[]): string {
  const [created, duplicate, error] = (['created', 'duplicate', 'error'] as const).map((of) => countOf(results, of))
  const one = results.length === 1
  const parts = [`${created} registrada${created === 1 ? '' : 's'}`]
  if (duplicate) parts.push(`${duplicate} já enviada${duplicate === 1 ? '' : 's'} antes`)
  parts.push(`${error} com erro`)
  return `${results.length} ${one ? 'devolução processada' : 'devoluções processadas'}: ${parts.join(', ')}.`
}

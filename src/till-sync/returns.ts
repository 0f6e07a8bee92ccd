import type { SyncSession } from '#access/sync-access.ts'
import type { ReturnRefusal } from '#commands/sales/judge-return.ts'
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
  type UploadServices,
} from './run-upload.ts'
import { offlineIdOf } from './upload.ts'

/** Result of an uploaded return. */
interface ReturnResult {
  /** As sent, a number as its text; null if it was neither. */
  readonly offline_id: string | null
  readonly status: 'created' | 'duplicate' | 'refused' | 'resolved' | 'error'
  readonly return_id: number | null
  readonly [field: string]: unknown
}

/** Uploads returns of tills (UP-100): each is recorded or refused on its own, and the answer is always 200. */
export const returnsRoute = ({ writer, log }: UploadServices): SyncRoute => ({
  ...SYNC_OPERATIONS.returns,
  async handle(request, response) {
    const session = tillSessionOf(response)
    const { returns } = parseInput(UploadedReturns, request.body)
    const done = await runUpload({ writer, log, session, response }, returns, readReturn(session))
    const results = done.map((result, position) => resultOf(returns[position], result))
    const slices = createTimeSlicer(session.companyId)
    sendBytes(response, 200, await composeListAnswer(results, messageOf(results), slices))
  },
})

/** The command of a return, or the refusal of an invalid one. */
const readReturn =
  ({ userId }: Pick<SyncSession, 'userId'>) =>
  (sent: unknown): Invocation | Refusal => {
    const { data, error } = OfflineReturnInput.safeParse(sent)
    return error ? refuseInvalid(error) : invoke(recordOfflineReturn, { ...data, userId })
  }

interface Remarks {
  readonly warnings: readonly OfflineReturnWarning[]
  readonly isAwaited?: true
  readonly refusal?: ReturnRefusal
  /** By a person, without recording it. */
  readonly resolution?: { readonly note: string | null }
}

function resultOf(sent: unknown, result: ElementResult): ReturnResult {
  const offline_id = offlineIdOf(sent)
  if (isNotRecorded(result))
    return { offline_id, status: 'error', return_id: null, code: result.refused, ...textOf(result) }
  const { warnings, isAwaited, refusal, resolution } = result.remarks as Remarks
  if (refusal !== undefined)
    return { offline_id, status: 'refused', return_id: null, code: refusal, message: REFUSALS[refusal] }
  if (resolution) {
    const message = 'Uma pessoa resolveu esta devolução sem registrá-la.'
    return {
      offline_id,
      status: 'resolved',
      return_id: null,
      message: [message, resolution.note ?? ''].join(' ').trim(),
    }
  }
  return {
    offline_id,
    status: result.outcome === 'created' ? 'created' : 'duplicate',
    return_id: parseSubject(result.subject).id,
    ...(isAwaited && { awaits_sale: true }),
    ...(warnings.length > 0 && { warnings: warnings.map(shownWarning) }),
  }
}

/** Messages of returns that a person decides about. They give no amounts of sales. */
const REFUSALS: Readonly<Record<ReturnRefusal, string>> = {
  sale_unknown: 'A venda não existe ou não é deste usuário: uma pessoa resolve a devolução no painel.',
  too_many_waiting: 'Há devoluções demais sem as suas vendas: uma pessoa resolve esta no painel.',
  expired: 'A venda não chegou a tempo: uma pessoa resolve a devolução no painel.',
  sale_cancelled: 'A venda está cancelada: uma pessoa resolve a devolução no painel.',
  already_returned: 'Voltou mais do que restava da venda: uma pessoa resolve a devolução no painel.',
  payment_mismatch: 'Foi devolvido mais dinheiro do que é devido: uma pessoa resolve a devolução no painel.',
  permission_required: 'A devolução passa do limite do seu perfil: uma pessoa a resolve no painel.',
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
  refund_differs: (found, expected) => `Foi devolvido ${found}, menos que o devido${expected && `, ${expected}`}.`,
  receivable_open: (found, expected) =>
    `Da venda a prazo baixaram ${found}${expected ? `, e deveriam baixar ${expected}` : ': menos que o devido'}.`,
  session_of_other: (found) => `A sessão ${found} é a gaveta de outro usuário.`,
  at_old: (found) => `A data da devolução, ${found}, é antiga: confira o relógio do caixa.`,
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
  const refused = countOf(results, 'refused')
  const resolved = countOf(results, 'resolved')
  const one = results.length === 1
  const parts = [`${created} registrada${created === 1 ? '' : 's'}`]
  if (duplicate) parts.push(`${duplicate} já enviada${duplicate === 1 ? '' : 's'} antes`)
  if (refused) parts.push(`${refused} recusada${refused === 1 ? '' : 's'}`)
  if (resolved) parts.push(`${resolved} resolvida${resolved === 1 ? '' : 's'} no painel`)
  parts.push(`${error} com erro`)
  return `${results.length} ${one ? 'devolução processada' : 'devoluções processadas'}: ${parts.join(', ')}.`
}

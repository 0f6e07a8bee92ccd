import type { SyncSession } from '#access/till-access.ts'
import { CashMovementInput, closeCashSession, recordCashMovement } from '#commands/cash-commands.ts'
import type { ReturnRefusal } from '#commands/offline-returns.ts'
import { OfflineReturnInput, recordOfflineReturn } from '#commands/record-offline-return.ts'
import { type Refusal, refuseInvalid } from '#domain/refusals.ts'
import { parseInput } from '#http/problems.ts'
import type { Invocation } from '#ledger/command.ts'
import { parseSubject } from '#ledger/projection.ts'
import type { CashMovementRow } from '#projections/cash-sessions.ts'
import type { OfflineReturnWarning } from '#projections/returns.ts'
import type { RefusedMovementRow } from '#projections/tills.ts'
import { CHAIN_MESSAGES, type SyncRoute, sentId, UploadedMovements, UploadedReturns } from './till-answers.ts'
import { SYNC_OPERATIONS } from './till-operations.ts'
import { getTillSession } from './till-router.ts'
import {
  type ElementResult,
  elementCommand,
  invokeElement,
  isNotRecorded,
  type RefusalTexts,
  readOfflineId,
  refusalText,
  refuseInChain,
  runUpload,
  sendResults,
  type UploadServices,
} from './uploads.ts'

/**
 * Uploads what tills did with their drawers. Each movement is recorded or refused on its own; a repeated upload
 * records nothing twice.
 */
export const cashRoute = ({ writer, log }: UploadServices): SyncRoute => ({
  ...SYNC_OPERATIONS.cash,
  async handle(request, response) {
    const session = getTillSession(response)
    const { movements } = parseInput(UploadedMovements, request.body)
    const done = await runUpload({ writer, log, session, response }, movements, readMovement(session))
    const results = done.map((result, position) => movementResult(movements[position], result))
    await sendResults(response, results, movementsMessage(results))
  },
})

const RECORD_MOVEMENT = elementCommand(recordCashMovement)
const CLOSE_SESSION = elementCommand(closeCashSession)
const RECORD_RETURN = elementCommand(recordOfflineReturn)

/** The command of a movement, or the refusal of an invalid one. */
const readMovement =
  ({ userId, ended }: Pick<SyncSession, 'userId' | 'ended'>) =>
  (movement: unknown): Invocation | Refusal => {
    const { data, error } = CashMovementInput.safeParse(movement)
    if (error) return refuseInChain(movement, refuseInvalid(error))
    const isLate = ended?.late.has(movement) ?? false
    return invokeElement(data.kind === 'closed' ? CLOSE_SESSION : RECORD_MOVEMENT, movement, {
      ...data,
      userId,
      isLate,
    })
  }

interface MovementResult {
  readonly offline_id: string | null
  readonly session_id: string | null
  readonly status: 'created' | 'duplicate' | 'refused' | 'resolved' | 'error'
  readonly warnings?: readonly object[]
  readonly code?: string
  readonly message?: string
  readonly errors?: Readonly<Record<string, readonly string[]>>
}

interface MovementRemarks {
  readonly warnings: CashMovementRow['warnings']
  /** Of the till's chain, beside the recorded ones. */
  readonly noted?: CashMovementRow['warnings']
  /** Kept for a person. */
  readonly refusal?: RefusedMovementRow['payload']['code']
  /** By a person, without recording it. */
  readonly resolution?: { readonly note: string }
}

function movementResult(movement: unknown, result: ElementResult): MovementResult {
  const sent = movement as { offline_id?: unknown; session_id?: unknown } | null
  const ids = { offline_id: sentId(sent?.offline_id), session_id: sentId(sent?.session_id) }
  if (isNotRecorded(result))
    return { ...ids, status: 'error', code: result.refused, ...refusalText(result, MOVEMENT_ERRORS, INVALID_MOVEMENT) }
  const { warnings: own, noted = [], refusal, resolution } = result.remarks as MovementRemarks
  const warnings = [...own, ...noted]
  if (refusal) return { ...ids, status: 'refused', code: refusal, message: MOVEMENT_REFUSALS[refusal] }
  if (resolution)
    return {
      ...ids,
      status: 'resolved',
      message: `Uma pessoa resolveu este movimento sem registrá-lo. ${resolution.note}`,
    }
  const status = result.outcome === 'created' ? 'created' : 'duplicate'
  return { ...ids, status, ...(warnings.length > 0 && { warnings: warnings.map(movementWarning) }) }
}

const MOVEMENT_REFUSALS: Readonly<Record<RefusedMovementRow['payload']['code'], string>> = {
  session_of_other: 'A sessão é a gaveta de outro usuário: uma pessoa resolve o movimento no painel.',
  access_ended: 'O movimento foi feito depois do fim do acesso do usuário: uma pessoa o resolve no painel.',
}

const WARNINGS: Readonly<Record<CashMovementRow['warnings'][number], string>> = {
  session_closed: 'A sessão já estava fechada: o movimento foi registrado e muda o valor esperado.',
  at_in_future: 'A data do movimento está no futuro: confira o relógio do caixa.',
  at_old: 'A data do movimento é antiga: confira o relógio do caixa.',
  ...CHAIN_MESSAGES,
}

const movementWarning = (code: CashMovementRow['warnings'][number]) => ({ code, message: WARNINGS[code] })

const INVALID_MOVEMENT = 'O movimento tem dados inválidos e não foi registrado.'

const MOVEMENT_ERRORS: RefusalTexts = {
  session_open: () => ({ message: 'Esta sessão de caixa já foi aberta.', errors: { session_id: ['já foi aberta'] } }),
  session_closed: () => ({
    message: 'Esta sessão de caixa já foi fechada.',
    errors: { session_id: ['já foi fechada'] },
  }),
  permission_required: () => ({
    message: 'Seu perfil não recebe contas.',
    errors: { receivable_id: ['seu perfil não recebe contas'] },
  }),
  duplicate_resource: () => ({
    message: 'Outro movimento já foi enviado com este offline_id.',
    errors: { offline_id: ['já usado por um movimento diferente'] },
  }),
}

/** One sentence with the counts of an upload. */
function movementsMessage(results: readonly MovementResult[]): string {
  const count = (status: MovementResult['status']) => results.filter((each) => each.status === status).length
  const [created, duplicate, error] = [count('created'), count('duplicate'), count('error')]
  const [refused, resolved] = [count('refused'), count('resolved')]
  const total = results.length
  const parts = [`${created} registrado${created === 1 ? '' : 's'}`]
  if (duplicate > 0) parts.push(`${duplicate} já enviado${duplicate === 1 ? '' : 's'} antes`)
  if (refused > 0) parts.push(`${refused} recusado${refused === 1 ? '' : 's'}`)
  if (resolved > 0) parts.push(`${resolved} resolvido${resolved === 1 ? '' : 's'} no painel`)
  parts.push(`${error} com erro`)
  const processed = `${total} ${total === 1 ? 'movimento processado' : 'movimentos processados'}`
  return `${processed}: ${parts.join(', ')}.`
}

/** Result of an uploaded return. */
interface ReturnResult {
  /** As sent, a number as its text; null if it was neither. */
  readonly offline_id: string | null
  readonly status: 'created' | 'duplicate' | 'refused' | 'resolved' | 'error'
  readonly return_id: number | null
  readonly [field: string]: unknown
}

/** Uploads returns of tills: each is recorded or refused on its own, and the answer is always 200. */
export const returnsRoute = ({ writer, log }: UploadServices): SyncRoute => ({
  ...SYNC_OPERATIONS.returns,
  async handle(request, response) {
    const session = getTillSession(response)
    const { returns } = parseInput(UploadedReturns, request.body)
    const done = await runUpload({ writer, log, session, response }, returns, readReturn(session))
    const results = done.map((result, position) => returnResult(returns[position], result))
    await sendResults(response, results, returnsMessage(results))
  },
})

/** The command of a return, or the refusal of an invalid one. */
const readReturn =
  ({ userId, ended }: Pick<SyncSession, 'userId' | 'ended'>) =>
  (sent: unknown): Invocation | Refusal => {
    const { data, error } = OfflineReturnInput.safeParse(sent)
    if (error) return refuseInChain(sent, refuseInvalid(error))
    return invokeElement(RECORD_RETURN, sent, { ...data, userId, isLate: ended?.late.has(sent) ?? false })
  }

interface Remarks {
  readonly warnings: readonly OfflineReturnWarning[]
  /** Of the till's chain, beside the recorded ones. */
  readonly noted?: readonly OfflineReturnWarning['code'][]
  readonly isAwaited?: true
  readonly refusal?: ReturnRefusal
  /** By a person, without recording it. */
  readonly resolution?: { readonly note: string | null }
}

function returnResult(sent: unknown, result: ElementResult): ReturnResult {
  const offline_id = readOfflineId(sent)
  if (isNotRecorded(result))
    return {
      offline_id,
      status: 'error',
      return_id: null,
      code: result.refused,
      ...refusalText(result, RETURN_ERRORS, INVALID_RETURN),
    }
  const { warnings: own, noted = [], isAwaited, refusal, resolution } = result.remarks as Remarks
  const warnings = [...own, ...noted.map((code) => ({ code, line: null, found: null, expected: null }))]
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
    ...(warnings.length > 0 && { warnings: warnings.map(returnWarning) }),
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
  access_ended: 'A devolução foi feita depois do fim do acesso do usuário: uma pessoa a resolve no painel.',
  permission_required: 'A devolução passa do limite do seu perfil: uma pessoa a resolve no painel.',
}

const INVALID_RETURN = 'A devolução tem dados inválidos e não foi registrada.'

const RETURN_ERRORS: RefusalTexts = {
  duplicate_resource: ({ conflicting_id }) => ({
    message: 'Outra devolução já foi enviada com este offline_id.',
    errors: { offline_id: [`já usado pela devolução ${conflicting_id}, que é diferente`] },
  }),
  managed_by_order: ({ order_id }) => ({
    message: 'A venda é de um pedido da loja online: estorne o pedido.',
    errors: { sale_id: [`é do pedido ${order_id}: estorne o pedido`] },
  }),
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
  till_signature: () => CHAIN_MESSAGES.till_signature,
  till_chain: () => CHAIN_MESSAGES.till_chain,
  till_number: () => CHAIN_MESSAGES.till_number,
}

function returnWarning({ code, line, found, expected }: OfflineReturnWarning): object {
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

function returnsMessage(results: readonly ReturnResult[]): string {
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

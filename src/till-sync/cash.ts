import type { SyncSession } from '#access/sync-access.ts'
import { CashMovementInput } from '#commands/cash/movement-input.ts'
import { closeCashSession, recordCashMovement } from '#commands/cash/record-movement.ts'
import type { Refusal } from '#domain/refusal.ts'
import { refuseInvalid } from '#domain/validation.ts'
import { sendBytes } from '#http/answer.ts'
import { parseInput } from '#http/problems.ts'
import { type Invocation, invoke } from '#ledger/command.ts'
import { createTimeSlicer } from '#lib/time-slicing.ts'
import type { CashMovementRow } from '#projections/cash-sessions.ts'
import { tillSessionOf } from './auth.ts'
import { composeListAnswer, sentId } from './list-answer.ts'
import { SYNC_OPERATIONS } from './operations.ts'
import { UploadedMovements } from './requests.ts'
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

/**
 * Uploads what tills did with their drawers (CASH-1). Each movement is recorded or refused on its own; a repeated upload
 * records nothing twice.
 */
export const cashRoute = ({ writer, log }: UploadServices): SyncRoute => ({
  ...SYNC_OPERATIONS.cash,
  async handle(request, response) {
    const session = tillSessionOf(response)
    const { movements } = parseInput(UploadedMovements, request.body)
    const done = await runUpload({ writer, log, session, response }, movements, readMovement(session))
    const results = done.map((result, position) => resultOf(movements[position], result))
    const slices = createTimeSlicer(session.companyId)
    sendBytes(response, 200, await composeListAnswer(results, messageOf(results), slices))
  },
})

/** The command of a movement, or the refusal of an invalid one. */
const readMovement =
  ({ userId }: Pick<SyncSession, 'userId'>) =>
  (movement: unknown): Invocation | Refusal => {
    const { data, error } = CashMovementInput.safeParse(movement)
    if (error) return refuseInvalid(error)
    return invoke(data.kind === 'closed' ? closeCashSession : recordCashMovement, { ...data, userId })
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

interface Remarks {
  readonly warnings: CashMovementRow['warnings']
  /** Kept for a person. */
  readonly isRefused?: true
  /** By a person, without recording it. */
  readonly resolution?: { readonly note: string }
}

function resultOf(movement: unknown, result: ElementResult): MovementResult {
  const sent = movement as { offline_id?: unknown; session_id?: unknown } | null
  const ids = { offline_id: sentId(sent?.offline_id), session_id: sentId(sent?.session_id) }
  if (isNotRecorded(result)) return { ...ids, status: 'error', code: result.refused, ...refusalText(result) }
  const { warnings, isRefused, resolution } = result.remarks as Remarks
  if (isRefused)
    return {
      ...{ ...ids, status: 'refused', code: 'session_of_other' },
      message: 'A sessão é a gaveta de outro usuário: uma pessoa resolve o movimento no painel.',
    }
  if (resolution)
    return {
      ...ids,
      status: 'resolved',
      message: `Uma pessoa resolveu este movimento sem registrá-lo. ${resolution.note}`,
    }
  const status = result.outcome === 'created' ? 'created' : 'duplicate'
  return { ...ids, status, ...(warnings.length > 0 && { warnings: warnings.map(shownWarning) }) }
}

const WARNINGS: Readonly<Record<CashMovementRow['warnings'][number], string>> = {
  session_closed: 'A sessão já estava fechada: o movimento foi registrado e muda o valor esperado.',
  at_in_future: 'A data do movimento está no futuro: confira o relógio do caixa.',
  at_old: 'A data do movimento é antiga: confira o relógio do caixa.',
}

const shownWarning = (code: CashMovementRow['warnings'][number]) => ({ code, message: WARNINGS[code] })

/** Message of a refused movement, and its invalid fields. */
function refusalText(refusal: NotRecorded): Pick<MovementResult, 'message' | 'errors'> {
  const { refused } = refusal
  if (refused === 'internal_error') return { message: FAULT_MESSAGE, errors: {} }
  if (refused === 'session_open')
    return { message: 'Esta sessão de caixa já foi aberta.', errors: { session_id: ['já foi aberta'] } }
  if (refused === 'session_closed')
    return { message: 'Esta sessão de caixa já foi fechada.', errors: { session_id: ['já foi fechada'] } }
  if (refused === 'permission_required')
    return { message: 'Seu perfil não recebe contas.', errors: { receivable_id: ['seu perfil não recebe contas'] } }
  if (refused === 'duplicate_resource') {
    const errors = { offline_id: ['já usado por um movimento diferente'] }
    return { message: 'Outro movimento já foi enviado com este offline_id.', errors }
  }
  return { message: 'O movimento tem dados inválidos e não foi registrado.', errors: fieldsOf(refusal) }
}

/** One sentence with the counts of an upload. */
function messageOf(results: readonly MovementResult[]): string {
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

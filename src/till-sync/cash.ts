import type { Response } from 'express'
import type { SyncSession } from '#access/sync-access.ts'
import { CashMovementInput } from '#commands/cash/movement-input.ts'
import { closeCashSession, recordCashMovement } from '#commands/cash/record-movement.ts'
import type { Refusal } from '#domain/refusal.ts'
import { refuseInvalid } from '#domain/validation.ts'
import { sendBytes } from '#http/answer.ts'
import { Problem, parseInput } from '#http/problems.ts'
import { type Invocation, invoke, isRefusal } from '#ledger/command.ts'
import type { CommandResult } from '#ledger/write/answer.ts'
import { runList } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/errors.ts'
import { createTimeSlicer } from '#lib/time-slicing.ts'
import type { CashMovementRow } from '#projections/cash-sessions.ts'
import { tillSessionOf } from './auth.ts'
import { composeListAnswer, sentId, uploaderOf } from './list-answer.ts'
import { SYNC_OPERATIONS } from './operations.ts'
import { UploadedMovements } from './requests.ts'
import type { SyncRoute } from './route.ts'

type Movements = readonly unknown[]

/**
 * Uploads what tills did with their drawers (CASH-1). Each movement is recorded or refused on its own; a repeated upload
 * records nothing twice.
 */
export const cashRoute = (writer: Writer): SyncRoute => ({
  ...SYNC_OPERATIONS.cash,
  async handle(request, response) {
    const session = tillSessionOf(response)
    const { movements } = parseInput(UploadedMovements, request.body)
    const slices = createTimeSlicer(session.companyId)
    const read = await readMovements(movements, slices)
    const results = resultsOf(movements, read, await record(writer, read, session, response))
    sendBytes(response, 200, await composeListAnswer(results, messageOf(results), slices))
  },
})

/** A command for each valid movement, and the refusal of each other one. */
async function readMovements(movements: Movements, slices: () => Promise<void>): Promise<(Invocation | Refusal)[]> {
  const read: (Invocation | Refusal)[] = []
  for (const [position, movement] of movements.entries()) {
    if (position > 0) await slices()
    const { data, error } = CashMovementInput.safeParse(movement)
    if (error) read.push(refuseInvalid(error))
    else read.push(invoke(data.kind === 'closed' ? closeCashSession : recordCashMovement, data))
  }
  return read
}

/** In the order of the upload. A closing looks sales up, so that it is a request by itself. */
async function record(
  writer: Writer,
  read: readonly (Invocation | Refusal)[],
  session: SyncSession,
  response: Response,
): Promise<CommandResult[]> {
  const acting = uploaderOf(session, response)
  const done: CommandResult[] = []
  for (const portion of portionsOf(read.flatMap((each) => (isRefusal(each) ? [] : each)))) {
    // The till has disconnected and will send the rest again.
    if (response.closed) throw new Unavailable('upload: the till has disconnected; it will send the rest again')
    const results = await runList(writer, acting, portion)
    if (isRefusal(results)) throw new Problem(results.refused, results.details)
    done.push(...results)
  }
  return done
}

function* portionsOf(invocations: readonly Invocation[]): Iterable<Invocation[]> {
  let portion: Invocation[] = []
  for (const invocation of invocations) {
    if (invocation.command.lookup === undefined) {
      portion.push(invocation)
      continue
    }
    if (portion.length > 0) yield portion
    yield [invocation]
    portion = []
  }
  if (portion.length > 0) yield portion
}

interface MovementResult {
  readonly offline_id: string | null
  readonly session_id: string | null
  readonly status: 'created' | 'duplicate' | 'error'
  readonly warnings?: readonly object[]
  readonly code?: string
  readonly message?: string
  readonly errors?: Readonly<Record<string, readonly string[]>>
}

/** A result for each movement, in the order of the list. */
function resultsOf(
  movements: Movements,
  read: readonly (Invocation | Refusal)[],
  done: readonly CommandResult[],
): MovementResult[] {
  let next = 0
  return movements.map((movement, position) => {
    const invalid = read[position] as Invocation | Refusal
    const result = isRefusal(invalid) ? invalid : (done[next++] as CommandResult)
    const sent = movement as { offline_id?: unknown; session_id?: unknown } | null
    const ids = { offline_id: sentId(sent?.offline_id), session_id: sentId(sent?.session_id) }
    if (isRefusal(result)) return { ...ids, status: 'error', code: result.refused, ...refusalText(result) }
    const { warnings } = result.remarks as { warnings: CashMovementRow['warnings'] }
    const status = result.outcome === 'created' ? 'created' : 'duplicate'
    return { ...ids, status, ...(warnings.length > 0 && { warnings: warnings.map(shownWarning) }) }
  })
}

const WARNINGS: Readonly<Record<CashMovementRow['warnings'][number], string>> = {
  session_closed: 'A sessão já estava fechada: o movimento foi registrado e muda o valor esperado.',
  receivable_unknown: 'A conta a receber não existe: o dinheiro foi registrado sem ela.',
  receivable_exceeded: 'Foi recebido mais do que a conta tinha em aberto.',
  at_in_future: 'A data do movimento está no futuro: confira o relógio do caixa.',
}

const shownWarning = (code: CashMovementRow['warnings'][number]) => ({ code, message: WARNINGS[code] })

/** Message of a refused movement, and its invalid fields. */
function refusalText({ refused, details }: Refusal): Pick<MovementResult, 'message' | 'errors'> {
  if (refused === 'session_open')
    return { message: 'Esta sessão de caixa já foi aberta.', errors: { session_id: ['já foi aberta'] } }
  if (refused === 'session_closed')
    return { message: 'Esta sessão de caixa já foi fechada.', errors: { session_id: ['já foi fechada'] } }
  if (refused === 'duplicate_resource') {
    const errors = { offline_id: ['já usado por um movimento diferente'] }
    return { message: 'Outro movimento já foi enviado com este offline_id.', errors }
  }
  const { fields } = details as { fields: Record<string, string[]> }
  return { message: 'O movimento tem dados inválidos e não foi registrado.', errors: fields }
}

/** One sentence with the counts of an upload. */
function messageOf(results: readonly MovementResult[]): string {
  const count = (status: MovementResult['status']) => results.filter((each) => each.status === status).length
  const [created, duplicate, error] = [count('created'), count('duplicate'), count('error')]
  const total = results.length
  const parts = [`${created} registrado${created === 1 ? '' : 's'}`]
  if (duplicate > 0) parts.push(`${duplicate} já enviado${duplicate === 1 ? '' : 's'} antes`)
  parts.push(`${error} com erro`)
  const processed = `${total} ${total === 1 ? 'movimento processado' : 'movimentos processados'}`
  return `${processed}: ${parts.join(', ')}.`
}

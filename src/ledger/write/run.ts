import type { Refusal } from '#domain/refusals.ts'
import type { Database } from '#postgres/database.ts'
import { inTransaction, type Transaction } from '#postgres/transaction.ts'
import { type Command, type Invocation, invoke, isRefusal } from '../command.ts'
import { lockLedger, openLedger, readLedgerClock } from '../ledgers.ts'
import { createWorkingSet } from '../working-set.ts'
import { type Answer, answerRefs, type CommandResult, createAnswer, findReplay, storeAnswer } from './idempotency.ts'
import { guardRefusal, type Request } from './unit-of-work.ts'
import { type Writer, writeRequest } from './writer.ts'

/** Company, channel, actor and request id of an action; all of them are recorded in the events. */
export type Actor = Pick<
  Request,
  'companyId' | 'origin' | 'actor' | 'requestId' | 'guard' | 'traceparent' | 'via' | 'isDryRun'
>

/** A program, through the integration API. */
export const asApiKey = (
  { companyId, keyId }: { readonly companyId: number; readonly keyId: number },
  requestId: string,
): Actor => ({ companyId, origin: 'api', actor: `api_key/${keyId}`, requestId })

/** A person, at a till or in the panel. */
export const asUser = (
  { companyId, userId }: { readonly companyId: number; readonly userId: number },
  origin: 'pdv' | 'panel',
  requestId: string,
): Actor => ({ companyId, origin, actor: `user/${userId}`, requestId })

/** The service itself. The request id, if any, belongs to a request from outside the company. */
export const asSystem = (companyId: number, requestId: string | null = null): Actor => ({
  companyId,
  origin: 'system',
  actor: null,
  requestId,
})

/** How a request is answered, and its weight in the queue. */
type Answering = Pick<Request, 'outcome' | 'compose' | 'withoutRecords' | 'idempotency' | 'weight' | 'precondition'>

/** Runs commands as one request. @throws Unavailable if the outcome cannot be guaranteed. */
export const runCommands = (
  writer: Writer,
  acting: Actor,
  invocations: readonly Invocation[],
  answering: Answering,
): Promise<Answer | Refusal> => writeRequest(writer, { ...acting, invocations, ...answering })

/** Runs one command. @throws Unavailable if the outcome cannot be guaranteed. */
export const runCommand = <I>(
  writer: Writer,
  acting: Actor,
  command: Command<I>,
  input: I,
  answering: Answering = {},
): Promise<Answer | Refusal> => runCommands(writer, acting, [invoke(command, input)], answering)

/**
 * Runs commands as one request and returns the result of each, without records. @throws Unavailable if the outcome
 * cannot be guaranteed.
 */
export async function runList(
  writer: Writer,
  acting: Actor,
  invocations: readonly Invocation[],
  { idempotency, weight }: Pick<Request, 'idempotency' | 'weight'> = {},
): Promise<readonly CommandResult[] | Refusal> {
  const answer = await runCommands(writer, acting, invocations, {
    idempotency,
    weight,
    compose: (results) => ({
      outcome: results.some(isRefusal) ? 'partial' : 'updated',
      // Only a replay reads the text.
      json: idempotency ? JSON.stringify(results) : '',
    }),
    withoutRecords: true,
  })
  if (isRefusal(answer)) return answer
  return answer.replayed ? (answer.record as CommandResult[]) : answer.results
}

/**
 * Runs one command. `R` is the resulting record, or null for a command without one, such as a deletion. @throws
 * Unavailable if the outcome cannot be guaranteed.
 */
export async function runAs<R extends object | null, I = unknown>(
  writer: Writer,
  acting: Actor,
  command: Command<I>,
  input: I,
): Promise<R | Refusal> {
  const answer = await runCommand(writer, acting, command, input)
  return isRefusal(answer) ? answer : (answer.record as R)
}

/** As runAs, by the service itself, outside any request. */
export const runAsSystem = <R extends object | null, I = unknown>(
  writer: Writer,
  companyId: number,
  command: Command<I>,
  input: I,
): Promise<R | Refusal> => runAs(writer, asSystem(companyId), command, input)

/** Context of an operation: statements under the lock of the company's ledger, at an instant (UTC). */
export interface OperationContext {
  readonly tx: Transaction
  readonly companyId: number
  readonly now: string
}

/** JSON text of the answer, or a refusal. A refusal must come before the first change. */
export type Operation = (operating: OperationContext) => Promise<string | Refusal>

/** Thrown to roll back the transaction: a refusal, or the answer of a dry run. */
class RolledBack extends Error {
  constructor(readonly answer: Answer | Refusal) {
    super('rolled back')
  }
}

/**
 * Changes rows of `ops` without an event, such as the deliveries of an endpoint. It is serialized with the company's
 * commands and follows the same rule for an Idempotency-Key: a retry of the same request gets the same answer, and the
 * operation runs once.
 */
export async function operate(
  pool: Database,
  {
    companyId,
    actor,
    idempotency,
    guard,
    isDryRun,
  }: Pick<Request, 'companyId' | 'actor' | 'idempotency' | 'guard' | 'isDryRun'>,
  operation: Operation,
): Promise<Answer | Refusal> {
  try {
    return await inTransaction(pool, async (tx) => {
      const row = (await lockLedger(tx, [companyId])).get(companyId)
      if (!row) throw new Error(`company ${companyId} has no ledger`)
      const { now } = await readLedgerClock(tx)
      // No event is recorded, so the operation uses the clock even if the ledger is ahead of it.
      const ledger = { ...openLedger(row, now), lastRecordedAt: now }
      if (ledger.closed) throw ledger.closed
      const set = createWorkingSet()
      set.queue(companyId, [...answerRefs({ actor, idempotency }), ...(guard?.needs ?? [])])
      await Promise.all(set.load(tx))
      const rows = set.of(companyId)
      const refused = guardRefusal(guard, rows, ledger.now)
      if (refused) return refused
      const replay = findReplay(rows, { actor, idempotency }, ledger)
      if (replay) return replay
      const json = await operation({ tx, companyId, now })
      if (typeof json !== 'string') throw new RolledBack(json)
      const answer = createAnswer({ outcome: 'updated', json }, ledger)
      if (isDryRun) throw new RolledBack({ ...answer, dryRun: { events: [], requests: [] } })
      if (idempotency) {
        storeAnswer(rows, { actor, idempotency }, answer, ledger)
        await Promise.all(set.flush(tx))
      }
      return answer
    })
  } catch (error) {
    if (error instanceof RolledBack) return error.answer
    throw error
  }
}

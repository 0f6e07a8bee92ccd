import type { Refusal } from '#domain/refusal.ts'
import { type Command, type Invocation, invoke, isRefusal } from '../command.ts'
import type { Answer, CommandResult } from './answer.ts'
import type { Request } from './unit-of-work.ts'
import { type Writer, writeRequest } from './writer.ts'

/** Company, channel, actor and request id of an action; all of them are recorded in the events. */
export type Actor = Pick<Request, 'companyId' | 'origin' | 'actor' | 'requestId' | 'guard' | 'traceparent'>

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

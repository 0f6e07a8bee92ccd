import type { Refusal } from '#domain/refusal.ts'
import { type Command, type Invocation, invoke, isRefusal } from '../command.ts'
import type { Answer, Request } from './unit-of-work.ts'
import type { Writer } from './writer.ts'

/** For whom and through which channel something is done; all of it is told in the events. */
export type Actor = Pick<Request, 'companyId' | 'origin' | 'actor' | 'requestId' | 'guard'>

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

/** The service itself; the request, if any, is one that nobody of the company has sent. */
export const asSystem = (companyId: number, requestId: string | null = null): Actor => ({
  companyId,
  origin: 'system',
  actor: null,
  requestId,
})

/** How a request is answered, and under which key again; and what it weighs. */
type Answering = Pick<Request, 'reply' | 'idempotency' | 'weight'>

/** Runs commands as one request. @throws Unavailable when nothing can be promised. */
export const runCommands = (
  writer: Writer,
  acting: Actor,
  invocations: readonly Invocation[],
  answering: Answering,
): Promise<Answer | Refusal> => writer.run({ ...acting, invocations, ...answering })

/** Runs one command. @throws Unavailable when nothing can be promised. */
export const runCommand = <I>(
  writer: Writer,
  acting: Actor,
  command: Command<I>,
  input: I,
  answering: Answering,
): Promise<Answer | Refusal> => runCommands(writer, acting, [invoke(command, input)], answering)

/** Nobody sees the status. */
const UNSEEN = { reply: { status: () => 200 } }

/**
 * Runs one command where no protocol has a status to give. `R` is the record as it then is, or null for a command that
 * leaves none to show, as a deletion. @throws Unavailable when nothing can be promised.
 */
export async function runAs<R extends object | null, I = unknown>(
  writer: Writer,
  acting: Actor,
  command: Command<I>,
  input: I,
): Promise<R | Refusal> {
  const answer = await runCommand(writer, acting, command, input, UNSEEN)
  if (isRefusal(answer)) return answer
  return (answer.body === '' ? null : JSON.parse(answer.body)) as R
}

/** The same as the service itself, outside of any request. */
export const runAsSystem = <R extends object | null, I = unknown>(
  writer: Writer,
  companyId: number,
  command: Command<I>,
  input: I,
): Promise<R | Refusal> => runAs(writer, asSystem(companyId), command, input)

import type { Refusal } from '#domain/refusal.ts'
import { type Command, invoke, isRefusal } from '#ledger/command.ts'
import type { Request } from '#ledger/write/unit-of-work.ts'
import type { Writer } from '#ledger/write/writer.ts'

/** For whom and through which channel something is done; all of it is told in the events. */
export type Acting = Pick<Request, 'companyId' | 'origin' | 'actor' | 'requestId'>

/**
 * Runs one command where no protocol has a status to give. `R` is the record as it then is, or null for a command that
 * leaves none to show, as a deletion.
 * @throws Unavailable when nothing can be promised.
 */
export async function runAs<R extends object | null, I = unknown>(
  writer: Writer,
  { companyId, origin, actor, requestId }: Acting,
  command: Command<I>,
  input: I,
): Promise<R | Refusal> {
  const invocations = [invoke(command, input)]
  // Nobody sees the status.
  const reply = { status: () => 200 }
  const answer = await writer.run({ companyId, origin, actor, requestId, invocations, reply })
  if (isRefusal(answer)) return answer
  return (answer.body === '' ? null : JSON.parse(answer.body)) as R
}

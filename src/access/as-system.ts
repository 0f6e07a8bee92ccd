import type { Refusal } from '../domain/refusal.ts'
import { type Command, invoke, isRefusal } from '../ledger/command.ts'
import type { Writer } from '../ledger/writer.ts'

/** Runs a command as the service itself, outside of any request; the answer is the record as it then is. */
export async function runAsSystem<R, I = unknown>(
  writer: Writer,
  companyId: number,
  command: Command<I>,
  input: I,
): Promise<R | Refusal> {
  const answer = await writer.run({
    companyId,
    invocations: [invoke(command, input)],
    origin: 'system',
    actor: null,
    requestId: null,
    // Nobody sees a status where there is no protocol.
    reply: { status: () => 200 },
  })
  return isRefusal(answer) ? answer : (JSON.parse(answer.body) as R)
}

import type { Refusal } from '#domain/refusal.ts'
import type { Command } from '#ledger/command.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { runAs } from './run-as.ts'

/** Runs a command as the service itself, outside of any request (runAs). */
export function runAsSystem<R extends object | null, I = unknown>(
  writer: Writer,
  companyId: number,
  command: Command<I>,
  input: I,
): Promise<R | Refusal> {
  return runAs(writer, { companyId, origin: 'system', actor: null, requestId: null }, command, input)
}

import { createInterface } from 'node:readline'
import { refuse } from '#domain/refusal.ts'
import type { FlagValues } from './arguments.ts'
import type { Flags } from './commands.ts'
import { Refused } from './verb.ts'

/** Value of a secret that is read from standard input. */
const FROM_INPUT = '-'
const MISSING = 'falta na entrada padrão'

/**
 * Replaces each secret with the value `-` by a line of the input, in the order of the verb's flags: other users of the
 * machine can see arguments, but not piped input. Without such a secret the input stays unread. @throws Refused if the
 * input ends too early
 */
export async function withSecrets(flags: Flags, values: FlagValues, input: NodeJS.ReadableStream): Promise<FlagValues> {
  const names = Object.keys(flags).filter((name) => flags[name]?.isSecret && values[name] === FROM_INPUT)
  if (names.length === 0) return values
  const read: Record<string, string> = {}
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
  for await (const line of lines) {
    read[names.shift() as string] = line
    if (names.length === 0) break
  }
  lines.close()
  if (names.length > 0)
    throw new Refused(refuse('validation_failed', { fields: Object.fromEntries(names.map((name) => [name, MISSING])) }))
  return { ...values, ...read }
}

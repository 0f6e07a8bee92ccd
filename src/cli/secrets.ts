import { createInterface } from 'node:readline'
import { refuse } from '#domain/refusal.ts'
import type { Typed } from './arguments.ts'
import type { Flags } from './commands.ts'
import { Refused } from './verb.ts'

/** Stands for a secret that is yet to be read. */
const FROM_INPUT = '-'
const MISSING = 'falta na entrada padrão'

/**
 * The same values with each secret that was given as `-` read from the input, a line each, in the order in which the verb has its flags:
 * other users of the machine see arguments, but not what is piped. The input is not touched where nothing is to be read.
 * @throws Refused when the input ends before all were read
 */
export async function withSecrets(flags: Flags, values: Typed, input: NodeJS.ReadableStream): Promise<Typed> {
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

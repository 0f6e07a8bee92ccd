import { parseArgs } from 'node:util'
import { find, type Named, usageOf } from './commands.ts'
import type { Flags, Values } from './verb.ts'

/** The command line does not say what to do; `usage` says how it can. */
export class WrongUsage extends Error {
  override readonly name = 'WrongUsage'
  readonly usage: string
  constructor(message: string, candidates: readonly Named[]) {
    super(message)
    this.usage = usageText(candidates)
  }
}

const CALL = 'npm run -s tillbook -- <command> [--json]'

const usageText = (commands: readonly Named[]): string => `${CALL}\n\n${commands.map(usageOf).join('\n')}`

/** How the commands are used that the words could mean. */
export function usageFor(words: readonly string[]): string {
  const found = find(words)
  return usageText('candidates' in found ? found.candidates : [found])
}

/** The verb and the values of its flags, each as `--flag value` or `--flag=value`. @throws WrongUsage */
export function understand(words: readonly string[]): { command: Named; values: Values<Flags> } {
  const command = find(words)
  if ('candidates' in command) throw new WrongUsage('There is no such command.', command.candidates)
  const { flags, positional } = command.verb
  const { values, positionals } = parse(command, command.rest)
  if (positional !== undefined && values[positional] === undefined) values[positional] = positionals.shift()
  if (positionals.length > 0) throw new WrongUsage(`What does "${positionals[0]}" mean?`, [command])
  const missing = Object.keys(flags).filter((name) => flags[name]?.required && values[name] === undefined)
  if (missing.length > 0) throw new WrongUsage(`Missing: ${missing.map((name) => `--${name}`).join(', ')}`, [command])
  return { command, values }
}

function parse(command: Named, args: readonly string[]) {
  const options = Object.fromEntries(
    Object.entries(command.verb.flags).map(([name, { value }]) => [
      name,
      { type: value === null ? ('boolean' as const) : ('string' as const) },
    ]),
  )
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const texts = Object.entries(values).map(([name, value]) => [name, value === undefined ? value : String(value)])
    return { values: Object.fromEntries(texts) as Record<string, string | undefined>, positionals }
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    if (code?.startsWith('ERR_PARSE_ARGS')) throw new WrongUsage(message, [command])
    throw error
  }
}

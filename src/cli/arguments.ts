import { parseArgs } from 'node:util'
import { type CliCommand, COMMANDS, find, type Name } from './commands.ts'
import { helpOn } from './help.ts'

/** The command line is incomplete or unknown; `usage` shows the correct form. */
export class WrongUsage extends Error {
  override readonly name = 'WrongUsage'
  readonly usage: string
  constructor(message: string, candidates: readonly Name[]) {
    super(message)
    this.usage = helpOn(candidates)
  }
}

/** Help about all verbs that match the words. */
export function usageFor(words: readonly string[]): string {
  const found = find(words)
  return helpOn('candidates' in found ? found.candidates : [found.name])
}

/** Raw values of flags; absent flags are undefined. */
export type FlagValues = Readonly<Record<string, string | undefined>>

/** Parses the verb and its flags, each as `--flag value` or `--flag=value`. @throws WrongUsage */
export function parseCommandLine(words: readonly string[]): { name: Name; values: FlagValues } {
  const found = find(words)
  if ('candidates' in found)
    throw new WrongUsage(words.length > 0 ? `unknown verb "${words.join(' ')}"` : 'a verb is missing', found.candidates)
  const { name, rest } = found
  const { flags, positional }: CliCommand = COMMANDS[name]
  const { values, positionals } = parse(name, rest)
  if (positional !== undefined && values[positional] === undefined) values[positional] = positionals.shift()
  if (positionals.length > 0) throw new WrongUsage(`unexpected argument "${positionals[0]}"`, [name])
  const missing = Object.keys(flags).filter((flag) => flags[flag]?.required && values[flag] === undefined)
  if (missing.length > 0) throw new WrongUsage(`missing: ${missing.map((flag) => `--${flag}`).join(', ')}`, [name])
  return { name, values }
}

function parse(name: Name, args: readonly string[]) {
  const options = Object.fromEntries(
    Object.entries((COMMANDS[name] as CliCommand).flags).map(([flag, { value, isRepeatable = false }]) => [
      flag,
      { type: value === null ? ('boolean' as const) : ('string' as const), multiple: isRepeatable },
    ]),
  )
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const texts = Object.entries(values).map(([flag, value]) => [
      flag,
      value === undefined ? value : [value].flat().join('\n'),
    ])
    return { values: Object.fromEntries(texts) as Record<string, string | undefined>, positionals }
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    if (code?.startsWith('ERR_PARSE_ARGS')) throw new WrongUsage(message, [name])
    throw error
  }
}

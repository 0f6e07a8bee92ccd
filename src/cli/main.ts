import { WrongSetting } from '#config/config.ts'
import { messageOf } from '#http/problems.ts'
import { Unavailable } from '#lib/unavailable.ts'
import { isOutage } from '#postgres/outage.ts'
import { understand, usageFor, WrongUsage } from './arguments.ts'
import type { Named } from './commands.ts'
import { createContext } from './connection.ts'
import { forPeople } from './output.ts'
import { withSecrets } from './secrets.ts'
import { type Flags, Refused, type Values } from './verb.ts'

process.exitCode = await main(process.argv.slice(2))

/** Runs a command line. Returns the exit code: 0 done, 1 refused or failed, 2 not understood. */
async function main(args: readonly string[]): Promise<number> {
  const json = args.includes('--json')
  const words = args.filter((word) => word !== '--json')
  if (words.includes('--help')) {
    console.log(usageFor(words))
    return 0
  }
  try {
    const { command, values } = understand(words)
    const result = await run(command, values)
    if (!result) return 0
    console.log(json ? JSON.stringify(result) : (command.verb.show ?? forPeople)(result))
    return command.verb.isBad?.(result) ? 1 : 0
  } catch (error) {
    if (error instanceof WrongUsage) {
      console.error(`${error.message}\n\n${error.usage}`)
      return 2
    }
    console.error(json ? JSON.stringify({ error: problemOf(error) }) : describe(error))
    return 1
  }
}

async function run({ verb }: Named, values: Values<Flags>): Promise<object | undefined> {
  const context = createContext(process.env)
  try {
    return await verb.run(context, await withSecrets(verb.flags, values, process.stdin))
  } finally {
    await context.close()
  }
}

interface Told {
  readonly code: string
  readonly message: string
  readonly details?: Readonly<Record<string, unknown>> | undefined
}

function problemOf(error: unknown): Told {
  if (error instanceof Refused) {
    const { refused, details } = error.refusal
    return { code: refused, message: messageOf(refused), details }
  }
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof WrongSetting) return { code: 'wrong_setting', message }
  return { code: error instanceof Unavailable || isOutage(error) ? 'unavailable' : 'internal_error', message }
}

/** For a person: what is wrong, with the fields or values that it is about, or the causes as far as they are known. */
function describe(error: unknown): string {
  const { code, message, details } = problemOf(error)
  const lines = [`${message} (${code})`]
  if (details) lines.push(forPeople((details.fields as object | undefined) ?? details))
  for (let cause = (error as Error).cause; cause instanceof Error; cause = cause.cause) lines.push(cause.message)
  return lines.join('\n')
}

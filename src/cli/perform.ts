import { constants, setPriority } from 'node:os'
import { WrongSetting } from '#config/config.ts'
import { WrongMasterKey } from '#crypto/master-keys.ts'
import { httpMessageOf } from '#http/problems.ts'
import { IncompatibleVersion, StepRefused, Unavailable, UnsupportedPostgres } from '#lib/errors.ts'
import { lowerHeapGrowth } from '#lib/memory.ts'
import { isOutage } from '#postgres/outage.ts'
import type { FlagValues } from './arguments.ts'
import { COMMANDS, type Name } from './commands.ts'
import { createContext, NoInstallation } from './connection.ts'
import { RequestRefused, ServiceUnreachable } from './service-client.ts'
import { formatAsText } from './terminal.ts'
import { Refused, type Verb, withSecrets } from './verb.ts'

const audit = () => import('./ledger-verbs.ts')
const cells = () => import('./cell-verbs.ts')
const companies = () => import('./company-verbs.ts')
const database = () => import('./database-verbs.ts')
const demo = () => import('./demo-verbs.ts')
const keys = () => import('./key-verbs.ts')
const lists = () => import('./list-verbs.ts')
const seals = () => import('./ledger-seal-verbs.ts')
const stores = () => import('./store-verbs.ts')
const users = () => import('./user-verbs.ts')

/** Files of verbs, by first word or full name. Only the file of the current verb is loaded. */
const FILES: Readonly<Record<string, () => Promise<object>>> = {
  'company list': lists,
  'key list': lists,
  'payment-type list': lists,
  'store list': lists,
  'user list': lists,
  company: companies,
  sale: companies,
  'company export': cells,
  'company import': cells,
  'company remove': cells,
  'company reopen': cells,
  store: stores,
  'payment-type': stores,
  user: users,
  till: users,
  person: () => import('./person-verbs.ts'),
  key: keys,
  'master-key': keys,
  ledger: audit,
  audit,
  'ledger verify': () => import('./ledger-verify-verbs.ts'),
  'ledger seal': seals,
  'ledger public-key': seals,
  'ledger attestors': seals,
  'seal-key': seals,
  database,
  projections: database,
  restored: database,
  demo,
  'provider-sandbox': demo,
  'time-stamp-authority': demo,
  witness: demo,
  listen: () => import('./listen-verbs.ts'),
  trigger: () => import('./trigger-verbs.ts'),
}

/** Loads the code of a verb. */
export async function load(name: Name): Promise<Verb> {
  const file = FILES[name] ?? FILES[name.split(' ')[0] as string]
  const verbs: Partial<Record<Name, Verb>> = Object.assign({}, ...Object.values((await file?.()) ?? {}))
  const verb = verbs[name]
  if (!verb) throw new Error(`command "${name}" has no implementation; add it to FILES in src/cli/perform.ts`)
  return verb
}

/** Runs a verb and prints its result. Returns the exit code: 0 success, 1 refused or failed. */
export async function perform(name: Name, values: FlagValues, json: boolean): Promise<number> {
  try {
    const verb = await load(name)
    const result = await run(name, verb, values, json)
    if (!result) return 0
    console.log(json ? JSON.stringify(result) : (verb.show ?? formatAsText)(result))
    return verb.isBad?.(result) ? 1 : 0
  } catch (error) {
    console.error(json ? JSON.stringify({ error: problemOf(error) }) : describe(error))
    return 1
  }
}

async function run(name: Name, verb: Verb, typed: FlagValues, json: boolean): Promise<object | undefined> {
  lowerHeapGrowth()
  const context = createContext(process.env, json)
  try {
    const values = await withSecrets(COMMANDS[name].flags, typed, process.stdin)
    if (verb.yields) setPriority(constants.priority.PRIORITY_LOW)
    // Required flags are present: the parser checked them.
    return await verb.run(context, values as Parameters<Verb['run']>[1])
  } finally {
    await context.close()
  }
}

interface PrintedProblem {
  readonly code: string
  readonly message: string
  readonly details?: Readonly<Record<string, unknown>> | undefined
}

function problemOf(error: unknown): PrintedProblem {
  if (error instanceof Refused) {
    const { refused, details } = error.refusal
    return { code: refused, message: httpMessageOf(refused), details }
  }
  if (error instanceof RequestRefused || error instanceof StepRefused)
    return { code: error.code, message: error.message, details: error.details }
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof WrongSetting) return { code: 'wrong_setting', message }
  if (error instanceof NoInstallation) return { code: 'no_installation', message }
  if (error instanceof WrongMasterKey) return { code: 'wrong_master_key', message }
  if (error instanceof UnsupportedPostgres) return { code: 'unfit_postgres', message }
  if (error instanceof IncompatibleVersion) return { code: 'other_version', message }
  return {
    code:
      error instanceof Unavailable || error instanceof ServiceUnreachable || isOutage(error)
        ? 'unavailable'
        : 'internal_error',
    message,
  }
}

/** Error text: what is wrong, with the fields or values concerned, or the known causes. */
function describe(error: unknown): string {
  const { code, message, details } = problemOf(error)
  const lines = [`${message} (${code})`]
  if (details) lines.push(formatAsText((details.fields as object | undefined) ?? details))
  for (let cause = (error as Error).cause; cause instanceof Error; cause = cause.cause) lines.push(cause.message)
  return lines.join('\n')
}

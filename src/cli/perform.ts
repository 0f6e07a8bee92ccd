import { constants, setPriority } from 'node:os'
import { isAbsolute, relative } from 'node:path'
import { type Addresses, type Config, readConfig, WrongSetting } from '#config/config.ts'
import { loadMasterKeys, WrongMasterKey } from '#crypto/master-keys.ts'
import { IncompatibleVersion, StepRefused, Unavailable, UnsupportedPostgres } from '#lib/errors.ts'
import { lowerHeapGrowth } from '#lib/fair-sharing.ts'
import { newId } from '#lib/ids.ts'
import { isOutage } from '#postgres/database.ts'
import type { OpenedReader } from '#service/command-reader.ts'
import type { Core } from '#service/core.ts'
import type { FlagValues } from './arguments.ts'
import { COMMANDS, type Flags, type Name } from './commands.ts'
import { RequestRefused, ServiceUnreachable } from './service-client.ts'
import { type Context, createProgress, formatAsText, Refused, type Verb, withSecrets } from './verb.ts'

/** Commands run one by one on one connection; a list may be read at the same time. */
const CONNECTIONS = 2

/** A context with the resources to close at the end. */
export interface OpenContext extends Context {
  close(): Promise<void>
}

/** Opens the database on demand: not every verb needs one, and a wrong flag must not start a server. */
function createContext(env: Readonly<Record<string, string | undefined>>, json = false): OpenContext {
  const config = readConfig(env)
  let postgres: Promise<OpenPostgres> | undefined
  let opened: Promise<OpenedCore> | undefined
  let openedReader: Promise<OpenedReader> | undefined
  const addresses = () => (postgres ??= openPostgres(config))
  const core: Context['core'] = async ({ upgrades } = { upgrades: false }) => {
    opened ??= addresses().then((place) => open(config, place, upgrades))
    return (await opened).core
  }
  /** A core follows ledgers outside Postgres, and makes missing tables. */
  async function openOwnReader(): Promise<OpenedReader> {
    const reader = config.EVENTSTORE_URL === undefined && (await openForReading(config, await addresses()))
    if (reader) return reader
    const { readerOfCore } = await import('#service/command-reader.ts')
    return { ...readerOfCore(await core()), close: async () => {} }
  }
  const progress = createProgress({ stream: process.stderr, isShown: !json, clock: () => performance.now() })
  return {
    config,
    json,
    progress,
    core,
    reader: () => (openedReader ??= openOwnReader()),
    addresses,
    async close() {
      progress.end()
      for (const each of [openedReader, opened]) await (await each?.catch(() => undefined))?.close()
      await (await postgres?.catch(() => undefined))?.stop()
    },
  }
}

interface OpenPostgres extends Addresses {
  stop(): Promise<void>
}

/** DATA_DIR has no installation. A command makes none: it would be a second one beside that of the service. */
class NoInstallation extends Error {
  constructor(dataDir: string) {
    const inside = relative(process.cwd(), dataDir)
    const shown = inside === '' || inside.startsWith('..') || isAbsolute(inside) ? dataDir : `./${inside}`
    super(`no installation in ${shown}; set DATA_DIR or start the service`)
  }
}

/** The database in DATABASE_URL, or the embedded one: that of a running service or, without one, of this command. */
async function openPostgres(config: Config): Promise<OpenPostgres> {
  const { DATABASE_URL, DATABASE_OWNER_URL, DATA_DIR } = config
  if (DATABASE_URL !== undefined) {
    const { assertSupported: assertFit } = await import('#postgres/requirements.ts')
    await assertFit(DATABASE_URL, { undurable: config.ALLOW_UNDURABLE_POSTGRES, newId })
    return { databaseUrl: DATABASE_URL, ownerUrl: DATABASE_OWNER_URL, stop: async () => {} }
  }
  const [{ startEmbedded }, { hasCluster }] = await Promise.all([
    import('#postgres/embedded.ts'),
    import('#postgres/cluster.ts'),
  ])
  if (!hasCluster(DATA_DIR)) throw new NoInstallation(DATA_DIR)
  const starting = startEmbedded({ dataDir: DATA_DIR, kind: 'command' })
  const stop = async () => (await starting).stop()
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => stop().finally(() => process.exit(128 + constants.signals[signal])))
  const { url, ownerUrl } = await starting
  return { databaseUrl: url, ownerUrl, stop }
}

interface OpenedCore {
  readonly core: Core
  close(): Promise<void>
}

/** Options of cores and readers alike. */
const OF_COMMANDS = {
  applicationName: 'tillbook command',
  onKeyMade: (source: string) =>
    console.error(`A master key was made in ${source}: keep a copy of it apart from the database.`),
  // The verb receives the error too and reports it.
  log: () => {},
}

async function openForReading(config: Config, { databaseUrl, ownerUrl }: Addresses): Promise<OpenedReader | null> {
  const { openReader } = await import('#service/command-reader.ts')
  const proofOptions = async () => (await import('#service/core.ts')).coreSettings(config)
  const place = { databaseUrl, ownerUrl, dataDir: config.DATA_DIR, connections: CONNECTIONS }
  return openReader({ ...place, ...OF_COMMANDS, masterKeys: loadMasterKeys(config), proofOptions })
}

async function open(config: Config, { databaseUrl, ownerUrl }: Addresses, upgrades: boolean): Promise<OpenedCore> {
  const [{ coreSettings }, { openCore }, { createErasureList: createForgottenList }] = await Promise.all([
    import('#service/core.ts'),
    import('#service/core.ts'),
    import('#privacy/erasures.ts'),
  ])
  let hasForgotten = false
  const core = await openCore({
    ...coreSettings(config),
    ...OF_COMMANDS,
    databaseUrl,
    ownerUrl,
    upgrades,
    queryConnections: CONNECTIONS,
    onOutdated: () => {},
    onForgotten() {
      hasForgotten = true
    },
  })
  return {
    core,
    async close() {
      if (hasForgotten)
        await createForgottenList({ pool: core.pool, dataDir: config.DATA_DIR, onError: () => {} }).sync()
      await core.close()
    },
  }
}

const audit = () => import('./ledger-verbs.ts')
const cells = () => import('./company-verbs.ts')
const companies = () => import('./company-verbs.ts')
const database = () => import('./database-verbs.ts')
const demo = () => import('./demo-verbs.ts')
const keys = () => import('./database-verbs.ts')
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
    console.error(json ? JSON.stringify({ error: await problemOf(error) }) : await describe(error, name, values))
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

async function problemOf(error: unknown): Promise<PrintedProblem> {
  if (error instanceof Refused) {
    const { refused, details } = error.refusal
    const { refusalInEnglish, detailsInEnglish } = await import('./service-client.ts')
    return { code: refused, message: refusalInEnglish(refused) ?? refused, details: detailsInEnglish(details) }
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

/** Error text: what is wrong, with the flags and values concerned, or the known causes. */
async function describe(error: unknown, name: Name, values: FlagValues): Promise<string> {
  const { code, message, details } = await problemOf(error)
  const lines = [`${message} (${code})`]
  const fields = details?.fields as Readonly<Record<string, readonly string[]>> | undefined
  if (fields) for (const [field, texts] of Object.entries(fields)) lines.push(describeField(field, texts, name, values))
  else if (details && code !== 'not_found') lines.push(formatAsText(details))
  else if (isRefusalError(error)) lines.push(...identifyingFlags(name, values))
  for (let cause = (error as Error).cause; cause instanceof Error; cause = cause.cause) lines.push(cause.message)
  return lines.join('\n')
}

const isRefusalError = (error: unknown): boolean =>
  error instanceof Refused || error instanceof RequestRefused || error instanceof StepRefused

/** What the command was about: `--company "7"`. Secrets are not repeated. */
const identifyingFlags = (name: Name, values: FlagValues): string[] =>
  Object.entries(COMMANDS[name].flags as Flags)
    .filter(([flag, { isSecret, value }]) => !isSecret && value !== null && values[flag] !== undefined)
    .map(([flag]) => `--${flag} "${values[flag]}"`)

/** The flag that a field's value came from: `settles-in` of `settles_in_days`. */
function flagOf(field: string, flags: Flags): string | undefined {
  const named = field.replace(/\[\d+\]$/, '').replaceAll('_', '-')
  const isPart = (flag: string) => named.startsWith(`${flag}-`) || named.endsWith(`-${flag}`)
  const names = Object.keys(flags)
  return names.find((flag) => flag === named) ?? names.filter(isPart).sort((a, b) => b.length - a.length)[0]
}

/** A wrong value beside its flag: `--cnpj "112": must be …`. Secrets are not repeated. */
function describeField(field: string, texts: readonly string[], name: Name, values: FlagValues): string {
  const flags: Flags = COMMANDS[name].flags
  const flag = flagOf(field, flags)
  if (flag === undefined) return `${field}: ${texts.join('; ')}`
  const value = values[flag]
  const shown = !flags[flag]?.isSecret && typeof value === 'string' ? ` "${value}"` : ''
  const placeholder = flags[flag]?.value
  const wanted = placeholder === 'yes|no' || texts[0] === 'is invalid' ? [`must be ${placeholder}`] : texts
  return `--${flag}${shown}: ${wanted.join('; ')}`
}

import { parseArgs } from 'node:util'
import { commandLine } from '#lib/files.ts'
import { type CliCommand, COMMANDS, find, type Name, toUsage } from './commands.ts'

/** Meaning of the flags, by name. */
const FLAG_MEANINGS: Readonly<Record<string, string>> = {
  name: 'name to show',
  cnpj: 'CNPJ, with or without punctuation',
  plan: 'plan of the company',
  timezone: 'IANA zone, such as America/Sao_Paulo',
  'logo-url': 'https address of a logo',
  'allow-same-cnpj': 'accepts a CNPJ that another company has',
  'state-registration': 'state registration, or ISENTO',
  'tax-regime': 'tax regime',
  address: 'address, as text',
  phone: 'phone number',
  'brand-color': 'colour of panel and receipts',
  'voucher-days': 'days that a voucher is valid for',
  test: 'a test company, for ever',
  'without-payment-types': 'creates no payment types',
  company: 'id of the company',
  to: 'where to write',
  from: 'where to begin or to read',
  note: 'file with the note of the import',
  reason: 'why; it is recorded',
  kind: 'kind of payment',
  fee: 'surcharge within the amount, in percent',
  'due-days': 'days until a sale on account is due',
  'acquirer-rate': 'percent that the acquirer keeps',
  'acquirer-rate-2-6': 'the same, of 2 to 6 instalments',
  'acquirer-rate-7-12': 'the same, of 7 and more',
  'fee-refunded': 'whether the fee comes back with a refund',
  'settles-in': 'days until the acquirer pays',
  id: 'id of the record',
  email: 'e-mail address of the user',
  password: 'password; - reads standard input',
  role: 'role in the company',
  'access-until': 'last day of access (auditors)',
  'personal-data': 'whether an auditor sees personal data',
  subject: 'record, such as customer/9',
  ground: 'legal ground',
  retention: 'years that a fiscal document needs the person',
  queue: 'erases later what must be kept now',
  scopes: 'scopes, with commas',
  'expires-at': 'end of the key',
  'max-amount-per-call': 'most that a call records, as 500.00',
  'max-amount-per-day': 'most that a day records',
  key: 'API key, or its id',
  yes: 'confirms',
  sale: 'id of the sale',
  number: 'number of the document',
  status: 'status of the document',
  model: 'model, such as 65',
  series: 'series of the document',
  'access-key': 'access key, 44 characters',
  protocol: 'protocol of the authorization',
  'authorized-at': 'time of the authorization',
  'xml-sha256': 'SHA-256 of the XML',
  'xml-url': 'https address of the XML',
  alias: 'alias of the store',
  commission: 'percent of each payment',
  sandbox: 'takes test payments only',
  'registers-sales': 'whether paid orders become sales',
  'access-token': 'access token at the provider',
  'notification-secret': 'secret that signs notifications',
  'lost-old': 'confirms that the former key is lost',
  file: 'file to read or write',
  checkpoint: 'file with checkpoints',
  'public-key': 'file with a public key',
  all: 'all companies',
  opened: 'adds personal data in clear',
  at: 'revision or time',
  get: 'path below /api/v1',
  'lost-after': 'time of the last recorded event',
  copy: 'a copy on purpose',
  like: 'URL of the first cell’s database',
  'without-keys': 'goes on without missing keys',
  'at-once': 'works without pauses',
  port: 'port to listen on',
  secret: 'signing secret',
  log: 'verifier key of a log',
  url: 'address of the service',
  folder: 'folder to write to',
  'forward-to': 'address that gets the webhooks',
  events: 'names of events, with commas',
  'replay-from': 'revision, day or time to begin with',
  event: 'name of the event',
  store: 'alias of the store',
  demo: 'uses data/demo.json',
  sales: 'number of sales',
}

const NAME_WIDTH = 26
const FLAG_WIDTH = 34
const EXIT_CODES = 'exit codes: 0 done; 1 refused, failed, or something is wrong; 2 wrong usage'

/** Help about some verbs: one line each, or about a single one all of it. */
const helpOn = (names: readonly Name[]): string => {
  const [only] = names
  return only !== undefined && names.length === 1 ? helpOnVerb(only) : listOf(names)
}

const listOf = (names: readonly Name[]): string =>
  [
    `usage: ${commandLine('<verb>', '[--json]')}`,
    '',
    ...names.map((name) => `  ${name.padEnd(NAME_WIDTH)} ${COMMANDS[name].summary}`),
    '',
    `arguments and an example: ${commandLine('help', '<verb>')}`,
  ].join('\n')

function helpOnVerb(name: Name): string {
  const { summary, details, example, flags, positional }: CliCommand = COMMANDS[name]
  const argumentLines = Object.entries(flags).map(([flag, { required, value }]) => {
    const shown = flag === positional ? `${value}` : [`--${flag}`, value ?? []].flat().join(' ')
    const argument = required ? shown : `[${shown}]`
    // A long one has its meaning on the next line, in the column of the others.
    const start = argument.length > FLAG_WIDTH ? `${argument}\n  ${''.padEnd(FLAG_WIDTH)}` : argument.padEnd(FLAG_WIDTH)
    return `  ${start} ${FLAG_MEANINGS[flag] ?? flag}`
  })
  return [
    `${name}: ${summary}`,
    ...(details ? [details] : []),
    '',
    `usage: ${commandLine(toUsage(name), '[--json]')}`,
    ...(argumentLines.length > 0 ? ['', 'arguments:', ...argumentLines] : []),
    `  ${'[--json]'.padEnd(FLAG_WIDTH)} prints one JSON document`,
    '',
    `example: ${commandLine(name, example ?? '')}`.trimEnd(),
    EXIT_CODES,
  ].join('\n')
}

/** The command line is incomplete or unknown; `usage` shows the correct form. */
export class WrongUsage extends Error {
  override readonly name = 'WrongUsage'
  readonly usage: string
  constructor(message: string, candidates: readonly Name[]) {
    super(message)
    this.usage = helpOn(candidates)
  }
}

/** Help about all verbs that match the words, which may stand in one argument. */
export function usageFor(words: readonly string[]): string {
  const found = find(words.flatMap((word) => word.split(' ')))
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

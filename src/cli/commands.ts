/*
 * All verbs and flags of the command line. This file imports nothing: usage and syntax errors appear before the code of
 * a verb is loaded (load.ts).
 */

/** A flag; `value` is the placeholder in usage, null if the flag takes no value. */
export interface Flag {
  readonly required: boolean
  readonly value: string | null
  /** Whether the value `-` reads it from standard input. */
  readonly isSecret?: true
  /** Whether the flag may be repeated; its value then has one line for each. */
  readonly isRepeatable?: true
}

export type Flags = Readonly<Record<string, Flag>>

/** Words and flags of a verb. */
export interface CliCommand {
  /** Begins with a verb; with the name, a line of the list has at most 70 characters. */
  readonly summary: string
  /** What help about the verb says further. */
  readonly details?: string
  /** Arguments of a working call. */
  readonly example?: string
  readonly flags: Flags
  /** Flag whose name may be omitted. */
  readonly positional?: string
}

const required = (value: string) => ({ required: true, value }) as const
const optional = (value: string) => ({ required: false, value }) as const

/** A secret flag. Usage shows that it can be piped. */
const secret = <F extends Flag>(flag: F) => ({ ...flag, value: `${flag.value}|-`, isSecret: true }) as const

const repeatable = (value: string) => ({ ...optional(value), isRepeatable: true }) as const

/** A flag without value; `true` if present. */
const toggle = { required: false, value: null } as const

const PLANS = 'basic|api'
const TAX_REGIMES = 'simples_nacional|simples_nacional_excess|normal|mei'
const KINDS = 'cash|card|pix|transfer|credit_account|exchange_credit|promotion|cashback|other'
/** Or the code of a role of the company's own, as `user list` shows it. */
const ROLES = 'owner|manager|clerk|accountant|auditor'
/** Required for auditors, not allowed for other roles. */
const terms = { 'access-until': optional('DATE'), 'personal-data': optional('yes|no') }

const ofCompany = {
  plan: optional(PLANS),
  timezone: optional('ZONE'),
  'logo-url': optional('URL'),
  'allow-same-cnpj': toggle,
  'state-registration': optional('IE|ISENTO'),
  'tax-regime': optional(TAX_REGIMES),
  address: optional('TEXT'),
  phone: optional('NUMBER'),
  'brand-color': optional('#RRGGBB'),
  'voucher-days': optional('DAYS'),
}

/** What a way to pay costs, and when it is paid. */
const paymentTerms = {
  fee: optional('PERCENT'),
  'due-days': optional('DAYS'),
  'acquirer-rate': optional('PERCENT'),
  'acquirer-rate-2-6': optional('PERCENT'),
  'acquirer-rate-7-12': optional('PERCENT'),
  'fee-refunded': optional('yes|no'),
  'settles-in': optional('DAYS'),
}

/** Flags that identify a user of a company. */
const user = { company: required('ID'), email: required('ADDRESS') }

/** Credentials of the payment provider, and the secret that signs its notifications: stored, but never shown. */
const ofProvider = { 'access-token': secret(optional('TOKEN')), 'notification-secret': secret(optional('SECRET')) }

/** All verbs, by name. */
export const COMMANDS = {
  'company create': {
    summary: 'registers a company',
    details:
      '--test makes it a test company for ever: keys tb_test_, a clock of its own, a reset. The plan "api" includes the integration API. --without-payment-types leaves out the usual ways to pay.',
    example: '--name "Padaria Central" --cnpj 11.222.333/0001-81 --plan api',
    flags: {
      name: required('NAME'),
      cnpj: required('CNPJ'),
      ...ofCompany,
      test: toggle,
      'without-payment-types': toggle,
    },
  },
  'company update': {
    summary: 'changes a company',
    details: 'Changes the given values only. An empty one, such as --phone=, removes it.',
    example: '4 --name "Padaria do Centro" --phone=',
    flags: { company: required('ID'), name: optional('NAME'), cnpj: optional('CNPJ'), ...ofCompany },
    positional: 'company',
  },
  'company list': { summary: 'lists the companies', flags: {} },
  'company export': {
    summary: 'closes a company, writes it to a file',
    details: 'May be repeated: the file is the same. Without --to it goes to standard output.',
    example: '4 --to company-4.jsonl',
    flags: { company: required('ID'), to: optional('FILE') },
    positional: 'company',
  },
  'company import': {
    summary: 'imports a company; prints its note',
    details: 'Another installation wrote it. Without --from it reads standard input. `company remove` takes the note.',
    example: '--from company-4.jsonl',
    flags: { from: optional('FILE'), 'allow-same-cnpj': toggle },
  },
  'company remove': {
    summary: 'removes an exported company for good',
    details: 'Needs the note of its import. After an interruption run it again.',
    example: '4 --note import-4.note',
    flags: { company: required('ID'), note: required('FILE') },
    positional: 'company',
  },
  'company reopen': {
    summary: 'reopens an exported company',
    details: 'Its file becomes void. Only if the file was not imported anywhere. Destroy the file.',
    example: '4 --reason "import cancelled"',
    flags: { company: required('ID'), reason: required('TEXT') },
    positional: 'company',
  },

  'payment-type create': {
    summary: 'defines a way to pay',
    details:
      '--fee is a surcharge within the amount, --acquirer-rate what the acquirer keeps of it (-2-6, -7-12: of instalments), --settles-in the days until it pays, --fee-refunded whether its fee comes back with a refund.',
    example: '--company 1 --name "Crédito" --kind card --acquirer-rate 3.20 --settles-in 30',
    flags: {
      company: required('ID'),
      name: required('NAME'),
      kind: required(KINDS),
      ...paymentTerms,
    },
  },
  'payment-type update': {
    summary: 'changes a way to pay, by id or name',
    example: '7 --company 1 --acquirer-rate 2.90',
    flags: {
      id: optional('ID'),
      company: required('ID'),
      name: optional('NAME'),
      kind: optional(KINDS),
      ...paymentTerms,
    },
    positional: 'id',
  },
  'payment-type list': {
    summary: 'lists the ways to pay of a company',
    example: '--company 1',
    flags: { company: required('ID') },
  },

  'user create': {
    summary: 'creates a user for panel and tills',
    details: 'A person whom another company knows keeps the password. Auditors need --access-until.',
    example: '--company 1 --email ana@example.com --name Ana --role manager --password -',
    flags: { ...user, name: required('NAME'), password: secret(required('PASSWORD')), ...terms, role: required(ROLES) },
  },
  'user invite': {
    summary: 'invites a person by a link',
    details: 'The link is mailed, or shown once without SMTP_URL. Inviting again makes another link.',
    example: '--company 1 --email ana@example.com --name Ana --role clerk',
    flags: { ...user, name: required('NAME'), ...terms, role: required(ROLES) },
  },
  'user list': {
    summary: 'lists the users of a company',
    details: 'Inactive ones too.',
    example: '--company 1',
    flags: { company: required('ID') },
  },
  'user update': {
    summary: 'changes name, role or terms of a user',
    details: 'One active owner must be left.',
    example: '--company 1 --email ana@example.com --role owner',
    flags: { ...user, name: optional('NAME'), ...terms, role: optional(ROLES) },
  },
  'user set-password': {
    summary: 'sets a password; ends all sessions',
    details: 'Counts for all companies of the person.',
    example: '--company 1 --email ana@example.com --password -',
    flags: { ...user, password: secret(required('PASSWORD')) },
  },
  'user remove-second-factor': {
    summary: 'removes second factors of a person',
    details: 'For all companies: the password alone logs in again.',
    example: '--company 1 --email ana@example.com',
    flags: user,
  },
  'user deactivate': {
    summary: 'ends the access of a user at once',
    details: 'Ends an invitation too.',
    example: '--company 1 --email ana@example.com',
    flags: user,
  },
  'user reactivate': {
    summary: 'lets a deactivated user log in again',
    example: '--company 1 --email ana@example.com',
    flags: user,
  },

  'person forget': {
    summary: 'erases the data of a person for good',
    details:
      'Refused while documents, open accounts or orders need the person; with --queue it is done on the day when they no longer do.',
    example: '--company 1 --subject customer/9 --ground holder_request --queue',
    flags: {
      company: required('ID'),
      subject: required('customer/ID|supplier/ID|user/ID|order/ID'),
      ground: required('holder_request|consent_withdrawn|purpose_ended|unlawful'),
      reason: optional('REFERENCE'),
      retention: optional('YEARS'),
      queue: toggle,
    },
  },

  'key create': {
    summary: 'creates an API key and shows it once',
    details: 'A company has at most 20 active keys. The amounts bound what a call, and a day, may record.',
    example: '--company 1 --name integration --scopes all',
    flags: {
      company: required('ID'),
      name: required('NAME'),
      scopes: required('all|read|SCOPE,SCOPE'),
      'expires-at': optional('TIME'),
      'max-amount-per-call': optional('AMOUNT'),
      'max-amount-per-day': optional('AMOUNT'),
    },
  },
  'key list': {
    summary: 'lists the API keys of a company',
    details: 'Ended ones too.',
    example: '--company 1',
    flags: { company: required('ID') },
  },
  'key revoke': {
    summary: 'revokes an API key at once',
    example: '12 --company 1',
    flags: { company: required('ID'), key: required('KEY_ID') },
    positional: 'key',
  },

  'person lost-keys': {
    summary: 'checks missing keys; --yes gives them up',
    details:
      'Ends the read-only state of a company once its keys are restored. With --yes the fields that they sealed are empty for good.',
    example: '4 --yes',
    flags: { company: required('ID'), yes: toggle },
    positional: 'company',
  },
  'person export': {
    summary: 'writes data of a person as JSON and HTML',
    example: '--company 1 --subject customer/9 --to .',
    flags: { company: required('ID'), subject: required('customer/9'), to: optional('FOLDER') },
  },

  'sale fiscal-document': {
    summary: 'records the fiscal document of a sale',
    details: 'A sale with a document in force cannot be cancelled.',
    example: '--company 1 --sale 981 --number 1234',
    flags: {
      company: required('ID'),
      sale: required('ID'),
      number: required('NUMBER'),
      status: optional('authorized|cancelled|contingency'),
      model: optional('CODE'),
      series: optional('SERIES'),
      'access-key': optional('KEY'),
      protocol: optional('PROTOCOL'),
      'authorized-at': optional('TIME'),
      'xml-sha256': optional('HEX'),
      'xml-url': optional('URL'),
    },
  },

  'store create': {
    summary: 'opens an online store',
    details:
      '--sandbox: it takes test payments only. With a commission the access token must be one that the shop granted by OAuth.',
    example: '--company 1 --alias padaria --commission 5 --sandbox',
    flags: {
      company: required('ID'),
      alias: required('ALIAS'),
      commission: required('PERCENT'),
      sandbox: toggle,
      'registers-sales': optional('yes|no'),
      ...ofProvider,
    },
  },
  'store update': {
    summary: 'changes commission or secrets of a store',
    details: 'Or whether paid orders become sales.',
    example: 'padaria --commission 4.50',
    flags: {
      alias: required('ALIAS'),
      commission: optional('PERCENT'),
      'registers-sales': optional('yes|no'),
      ...ofProvider,
    },
    positional: 'alias',
  },
  'store enable': {
    summary: 'enables a store',
    details: 'It takes orders and payments again.',
    example: 'padaria',
    flags: { alias: required('ALIAS') },
    positional: 'alias',
  },
  'store disable': {
    summary: 'disables a store: its requests get 404',
    example: 'padaria',
    flags: { alias: required('ALIAS') },
    positional: 'alias',
  },
  'store list': {
    summary: 'lists the online stores of a company',
    example: '--company 1',
    flags: { company: required('ID') },
  },

  'master-key rotate': {
    summary: 're-encrypts all secrets with a new key',
    details:
      'Into master.key, or MASTER_KEY with MASTER_KEY_FORMER set to the present one. Services may run. After an interruption run it again.',
    flags: {},
  },

  'seal-key rotate': {
    summary: 'rotates the checkpoint signing key',
    details: 'The present key signs the new one. Services may run. After an interruption run it again.',
    flags: {},
  },
  'seal-key adopt': {
    summary: 'replaces a lost signing key',
    details: 'Takes the key in SEAL_KEY_FILE, or makes one. Every verifier shows that the former key did not sign it.',
    example: '--lost-old --reason "disk of the server lost"',
    flags: { 'lost-old': { required: true, value: null }, reason: required('TEXT') },
  },

  'ledger verify': {
    summary: 'verifies ledgers, or an exported file',
    details:
      'Checks hashes, chains and checkpoints. Without --company all ledgers. --file verifies an export without a database.',
    example: '--company 1 --checkpoint seals.jsonl --public-key keys.pem',
    flags: {
      company: optional('ID'),
      file: optional('EXPORT'),
      checkpoint: optional('CHECKPOINTS'),
      'public-key': repeatable('PEM'),
    },
  },
  'ledger seal': {
    summary: 'prints the signed checkpoint of a ledger',
    details: 'Verifies the ledger before, or all. Keep it outside of the service.',
    example: '--all',
    flags: { company: optional('ID'), all: toggle },
  },
  'ledger public-key': {
    summary: 'prints the keys that sign checkpoints',
    details: 'The last one signs now.',
    flags: {},
  },
  'ledger attestors': {
    summary: 'lists attestors, their state and faults',
    flags: {},
  },
  'ledger export': {
    summary: 'prints events as JSON Lines, as hashed',
    details: '`ledger verify --file` verifies the export.',
    example: '--company 1 --from 0',
    flags: { company: required('ID'), from: optional('REVISION') },
  },
  'audit pack': {
    summary: 'writes ledger, proofs and verifier as ZIP',
    details: 'With an index in words. --opened adds a file with personal data in clear.',
    example: '--company 1 --to pack.zip',
    flags: { company: required('ID'), to: required('FILE'), opened: toggle },
  },
  'ledger history': {
    summary: 'lists the events of one record',
    details: 'Oldest first. Also of a deleted record.',
    example: '--company 1 --subject sale/9',
    flags: { company: required('ID'), subject: required('sale/9') },
  },
  'ledger as-of': {
    summary: 'runs a GET as of a revision or time',
    details: 'A GET of API v1, below /api/v1. Only data of the ledger have a past.',
    example: '--company 1 --at 30 --get /catalog/items/1',
    flags: { company: required('ID'), at: required('TIME|REVISION'), get: required('/sales/9') },
  },
  'ledger correct-clock': {
    summary: 'lets a ledger go on after a wrong clock',
    details:
      'Records that the clock ran ahead. Of a ledger whose last event is in the future; its next events follow the present clock.',
    example: '1',
    flags: { company: required('ID') },
    positional: 'company',
  },
  restored: {
    summary: 'records a restore from a backup',
    details:
      'Without it a restored database records nothing. In each ledger; later ids jump beyond those given out since. --copy: a copy on purpose, with an id of its own, which sends nothing. After an interruption run it again.',
    example: '--lost-after 2026-11-21T08:00:00Z --reason "restore of 21/11"',
    flags: { 'lost-after': required('INSTANT'), reason: required('TEXT'), copy: toggle },
  },
  'ledger copy': {
    summary: 'copies all ledgers to an EventStoreDB',
    details: 'Verifies the copy. What is there already is compared, so an interrupted copy is run again.',
    example: '--to esdb://127.0.0.1:2113?tls=false',
    flags: { to: required('esdb://HOST:2113') },
  },

  'database prepare': {
    summary: 'migrates and grants, as the owner',
    details:
      'Uses DATABASE_OWNER_URL; a start does the same if it has it. --like makes the database a cell beside the first installation, before its first start.',
    flags: { like: secret(optional('URL')) },
  },
  'database rebuild': {
    summary: 'fills a database from the event store',
    details:
      'The database must be empty. --yes confirms that what only the lost database knew is gone. --without-keys goes on without missing keys of persons: their fields are empty for good. After an interruption run it again.',
    example: '--yes',
    flags: { yes: toggle, 'without-keys': toggle },
  },
  'projections verify': {
    summary: 'compares tables with the ledgers',
    details: 'Replays the ledgers. Of a company, or of all.',
    example: '1',
    flags: { company: optional('ID') },
    positional: 'company',
  },
  'projections rebuild': {
    summary: 'rebuilds tables from the ledgers',
    details: 'Works a quarter of the time, so that requests go first; --at-once all of it.',
    example: '--at-once',
    flags: { 'at-once': toggle },
  },

  'provider-sandbox': {
    summary: 'simulates the payment provider',
    details: 'For trials of online orders. Its page approves, refunds, repeats and forges.',
    example: '--port 4000',
    flags: { port: optional('PORT'), secret: optional('NOTIFICATION_SECRET') },
  },
  witness: {
    summary: 'runs a witness for trials',
    details:
      'For trials of WITNESS_URLS. Cosigns checkpoints of the given logs, or of a running service, and never two histories of one.',
    example: '--url http://127.0.0.1:3000',
    flags: {
      log: repeatable('VKEY'),
      url: optional('URL'),
      port: optional('PORT'),
      name: optional('NAME'),
      file: optional('FILE'),
    },
  },
  'time-stamp-authority': {
    summary: 'runs a time-stamp authority for trials',
    details: 'For trials of SEAL_TSA_URL. Needs openssl.',
    example: '--port 4002',
    flags: { port: optional('PORT'), folder: optional('FOLDER') },
  },
  listen: {
    summary: 'delivers webhooks to a local address',
    details: 'Works against any service, with an API key. The secret that signs is shown at the start.',
    example: '--forward-to http://localhost:4100/hook --key "$KEY"',
    flags: {
      'forward-to': required('URL'),
      key: secret(required('API_KEY')),
      url: optional('URL'),
      secret: secret(optional('whsec_…')),
      events: optional('EVENT,EVENT'),
      'replay-from': optional('REVISION|DATE|TIME'),
    },
  },
  trigger: {
    summary: 'causes an event in a test company',
    details: 'Its webhooks are sent. Orders use the store of the newest order, or --store.',
    example: 'sale.completed --key "$KEY"',
    flags: {
      event: required('EVENT'),
      key: secret(required('API_KEY')),
      url: optional('URL'),
      store: optional('ALIAS'),
    },
    positional: 'event',
  },
  till: {
    summary: 'plays a day of an offline till',
    details: 'Sells, loses its connection, reconciles.',
    example: '--demo',
    flags: {
      url: optional('URL'),
      email: optional('EMAIL'),
      password: optional('PASSWORD'),
      demo: toggle,
      sales: optional('COUNT'),
      queue: optional('FILE'),
    },
  },
  demo: {
    summary: 'shows the main job step by step',
    details: 'On a running service.',
    flags: { url: optional('URL'), key: optional('API_KEY') },
  },
} as const satisfies Readonly<Record<string, CliCommand>>

/** Name of a verb. */
export type Name = keyof typeof COMMANDS

const NAMES = Object.keys(COMMANDS) as Name[]

/** Looks up the first words of a command line. Returns the verb with the remaining words, or the candidates. */
export function find(words: readonly string[]): { name: Name; rest: readonly string[] } | { candidates: Name[] } {
  const name = NAMES.find((each) => each.split(' ').every((word, place) => words[place] === word))
  if (name) return { name, rest: words.slice(name.split(' ').length) }
  const ofGroup = NAMES.filter((each) => each.split(' ')[0] === words[0])
  return { candidates: ofGroup.length > 0 ? ofGroup : NAMES }
}

/** Verb and arguments; what may be omitted stands in brackets. */
export function toUsage(name: Name): string {
  const { flags, positional }: CliCommand = COMMANDS[name]
  const words = Object.entries(flags).map(([flag, { required, value, isRepeatable }]) => {
    const named = flag === positional ? value : [`--${flag}`, value ?? []].flat().join(' ')
    if (isRepeatable) return `[${named}]…`
    return required ? named : `[${named}]`
  })
  return [name, ...words].join(' ')
}

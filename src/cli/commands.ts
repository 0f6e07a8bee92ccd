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
  readonly summary: string
  readonly flags: Flags
  /** Flag whose name may be omitted. */
  readonly positional?: string
}

const required = (value: string) => ({ required: true, value }) as const
const optional = (value: string) => ({ required: false, value }) as const

/** A secret flag. Usage shows that it can be piped (secrets.ts). */
const secret = <F extends Flag>(flag: F) => ({ ...flag, value: `${flag.value}|-`, isSecret: true }) as const

const repeatable = (value: string) => ({ ...optional(value), isRepeatable: true }) as const

/** A flag without value; `true` if present. */
const toggle = { required: false, value: null } as const

const PLANS = 'basic|api'
const TAX_REGIMES = 'simples_nacional|simples_nacional_excess|normal|mei'
const KINDS = 'cash|card|pix|transfer|credit_account|exchange_credit|promotion|cashback|other'
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
    summary:
      'registers a company; the plan "api" includes the integration API; --test makes it a test company, for ever, with keys tb_test_, a clock of its own and a reset; it gets the usual ways to pay, or none with --without-payment-types',
    flags: {
      name: required('NAME'),
      cnpj: required('CNPJ'),
      ...ofCompany,
      test: toggle,
      'without-payment-types': toggle,
    },
  },
  'company update': {
    summary:
      'changes what is given; an empty --logo-url=, --state-registration=, --tax-regime=, --address=, --phone= or --brand-color= removes what was there',
    flags: { company: required('ID'), name: optional('NAME'), cnpj: optional('CNPJ'), ...ofCompany },
    positional: 'company',
  },
  'company list': { summary: 'lists the companies', flags: {} },
  'company export': {
    summary:
      'closes a company and writes all of it to a file, or to standard output, for another installation (cell) to import; may be repeated',
    flags: { company: required('ID'), to: optional('FILE') },
    positional: 'company',
  },
  'company import': {
    summary:
      'imports a company from its file, or from standard input, opens it here, and prints the note for company remove',
    flags: { from: optional('FILE'), 'allow-same-cnpj': toggle },
  },
  'company remove': {
    summary: 'removes an exported company for good, given the note of its import; interrupted: run it again',
    flags: { company: required('ID'), note: required('FILE') },
    positional: 'company',
  },
  'company reopen': {
    summary:
      'opens an exported company again, which must not have been imported anywhere: the file is void, destroy it',
    flags: { company: required('ID'), reason: required('TEXT') },
    positional: 'company',
  },

  'payment-type create': {
    summary:
      'defines a way to pay; --fee is a surcharge within the amount, --acquirer-rate what the acquirer keeps of it, --acquirer-rate-2-6 and --acquirer-rate-7-12 of instalments, --settles-in the days until it pays, --fee-refunded whether its fee comes back with a refund',
    flags: {
      company: required('ID'),
      name: required('NAME'),
      kind: required(KINDS),
      ...paymentTerms,
    },
  },
  'payment-type update': {
    summary: 'changes the way to pay with this id, or else the one with this name',
    flags: {
      id: optional('ID'),
      company: required('ID'),
      name: optional('NAME'),
      kind: optional(KINDS),
      ...paymentTerms,
    },
    positional: 'id',
  },
  'payment-type list': { summary: 'lists the ways to pay of a company', flags: { company: required('ID') } },

  'user create': {
    summary: 'lets a person log in at the counter and in the panel; one whom another company knows keeps the password',
    flags: { ...user, name: required('NAME'), password: secret(required('PASSWORD')), ...terms, role: required(ROLES) },
  },
  'user invite': {
    summary:
      'asks a person to join the company, by a link that is mailed, or shown this once where no mail is set up; again: another link',
    flags: { ...user, name: required('NAME'), ...terms, role: required(ROLES) },
  },
  'user list': {
    summary: 'lists the users of a company, also inactive ones',
    flags: { company: required('ID') },
  },
  'user update': {
    summary: 'changes the name, the role or the terms of a user; one owner must be left',
    flags: { ...user, name: optional('NAME'), ...terms, role: optional(ROLES) },
  },
  'user set-password': {
    summary: 'gives a person another password and ends whatever was open with the old one, in all companies',
    flags: { ...user, password: secret(required('PASSWORD')) },
  },
  'user remove-second-factor': {
    summary:
      'removes the second factors and recovery codes of a person who has lost them, for all companies: the password alone logs in again',
    flags: user,
  },
  'user deactivate': {
    summary:
      'shuts a user out of the company, in the panel and at tills, from the next call on; takes an invitation back',
    flags: user,
  },
  'user reactivate': { summary: 'lets a user log in again', flags: user },

  'person forget': {
    summary:
      'forgets all that is about a person, for good; what documents, open accounts or orders still need is refused, or with --queue done on the day',
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
    summary: 'makes an API key, which is shown this once; a company has at most 5 active ones',
    flags: {
      company: required('ID'),
      name: required('NAME'),
      scopes: required('all|read|SCOPE,SCOPE'),
      'expires-at': optional('TIME'),
    },
  },
  'key list': {
    summary: 'lists the API keys of a company, also revoked and expired ones',
    flags: { company: required('ID') },
  },
  'key revoke': {
    summary: 'ends an API key for good, from its next call on',
    flags: { company: required('ID'), key: required('KEY_ID') },
    positional: 'key',
  },

  'person lost-keys': {
    summary:
      'ends the read-only state of a company whose keys of persons are missing: once they are restored, or with --yes, which declares them lost: what they sealed is empty for good',
    flags: { company: required('ID'), yes: toggle },
    positional: 'company',
  },
  'person export': {
    summary: 'writes all that is held of a person, and every event that touched it, to a JSON and an HTML file',
    flags: { company: required('ID'), subject: required('customer/9'), to: optional('FOLDER') },
  },

  'sale fiscal-document': {
    summary: 'records the fiscal document of a sale, which cannot be cancelled while it is in force',
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
    summary:
      'opens an online store; --sandbox for one that takes test payments only; with a commission, the access token must be one that the shop granted by OAuth',
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
    summary:
      'changes the commission of payments to come, whether paid orders become sales, or puts new secrets in the place of the old ones',
    flags: {
      alias: required('ALIAS'),
      commission: optional('PERCENT'),
      'registers-sales': optional('yes|no'),
      ...ofProvider,
    },
    positional: 'alias',
  },
  'store enable': {
    summary: 'lets a store take orders, payments and notifications again',
    flags: { alias: required('ALIAS') },
    positional: 'alias',
  },
  'store disable': {
    summary: 'closes a store: to its buyers and to the provider it does not exist',
    flags: { alias: required('ALIAS') },
    positional: 'alias',
  },
  'store list': { summary: 'lists the online stores of a company', flags: { company: required('ID') } },

  'master-key rotate': {
    summary:
      'seals all secrets of the database anew, by a new key in master.key, or by MASTER_KEY where MASTER_KEY_FORMER is the present one; services may run',
    flags: {},
  },

  'seal-key rotate': {
    summary:
      'makes a new key for seals, which the present one signs, and puts it in its place; services may run; interrupted: run it again',
    flags: {},
  },
  'seal-key adopt': {
    summary:
      'goes on with the key in SEAL_KEY_FILE, or a new one, though the one before is lost and cannot sign it; every verifier is told so, with the reason',
    flags: { 'lost-old': { required: true, value: null }, reason: required('TEXT') },
  },

  'ledger verify': {
    summary:
      'recomputes every hash and follows the chain, of all companies or one, or of an export; holds it against checkpoints; ends with 1 if anything is wrong',
    flags: {
      company: optional('ID'),
      file: optional('EXPORT'),
      checkpoint: optional('CHECKPOINTS'),
      'public-key': repeatable('PEM'),
    },
  },
  'ledger seal': {
    summary:
      'verifies the ledger of a company, or of all, and prints its checkpoint, or all with that of the installation; keep it outside of the service',
    flags: { company: optional('ID'), all: toggle },
  },
  'ledger public-key': {
    summary: 'prints the public keys that have signed checkpoints, for verifiers; the last one signs now',
    flags: {},
  },
  'ledger attestors': {
    summary:
      'lists witnesses, time-stamp authority and copies of checkpoints: the newest checkpoint that each vouches for, and what is wrong; ends with 1 where something is',
    flags: {},
  },
  'ledger export': {
    summary: 'prints the events of a company as JSON Lines, each as it was hashed; `ledger verify --file` checks them',
    flags: { company: required('ID'), from: optional('REVISION') },
  },
  'audit pack': {
    summary:
      'writes a ZIP with the ledger of a company, what vouches for it, the verifier and an index; --opened adds personal data in clear',
    flags: { company: required('ID'), to: required('FILE'), opened: toggle },
  },
  'ledger history': {
    summary: 'lists the events of one record, oldest first, also of a deleted one',
    flags: { company: required('ID'), subject: required('sale/9') },
  },
  'ledger as-of': {
    summary: 'answers a GET of API v1 as it was answered at a revision or time; what is not of the ledger has no past',
    flags: { company: required('ID'), at: required('TIME|REVISION'), get: required('/sales/9') },
  },
  'ledger correct-clock': {
    summary:
      'records that the clock ran ahead when the last event of a company was recorded, so that its ledger takes writes again, by the clock as it is now',
    flags: { company: required('ID') },
    positional: 'company',
  },
  restored: {
    summary:
      'records that the database comes from a backup, so that the service goes on: in each ledger, with ids beyond those given out since; --copy for a copy on purpose, which gets an id of its own and sends nothing out; interrupted: run it again',
    flags: { 'lost-after': required('INSTANT'), reason: required('TEXT'), copy: toggle },
  },
  'ledger copy': {
    summary:
      'copies all ledgers to an EventStoreDB, unchanged, and reads them back; what is there already is compared, so an interrupted copy is just run again',
    flags: { to: required('esdb://HOST:2113') },
  },

  'database prepare': {
    summary:
      'migrates the database as its owner (DATABASE_OWNER_URL), and gives the role of DATABASE_URL what the service needs and no more; a start does so too where it is told the owner. --like makes it a cell beside the first installation, whose database it names: with its keys and secrets, and company ids of its own; before the first start',
    flags: { like: secret(optional('URL')) },
  },
  'database rebuild': {
    summary:
      'fills an empty database from the event store; what only the lost one knew is gone, which --yes confirms. --without-keys goes on where keys of persons are not there: what they sealed is empty for good; interrupted: run it again',
    flags: { yes: toggle, 'without-keys': toggle },
  },
  'projections verify': {
    summary: 'compares the tables of a company, or of all, with a replay of the ledger; exit code 1 where rows differ',
    flags: { company: optional('ID') },
    positional: 'company',
  },
  'projections rebuild': {
    summary:
      'rebuilds all tables of the read model from the ledgers; works a quarter of the time, so that requests do not wait for it, or with --at-once all of it',
    flags: { 'at-once': toggle },
  },

  'provider-sandbox': {
    summary: 'runs a payment provider to try online orders with: approve, refund, repeat and forge with curl',
    flags: { port: optional('PORT'), secret: optional('NOTIFICATION_SECRET') },
  },
  witness: {
    summary:
      'runs a witness to try WITNESS_URLS with, which cosigns checkpoints of the logs that it is given, or of a running service, and never two histories of one',
    flags: {
      log: repeatable('VKEY'),
      url: optional('URL'),
      port: optional('PORT'),
      name: optional('NAME'),
      file: optional('FILE'),
    },
  },
  'time-stamp-authority': {
    summary:
      'runs a time-stamp authority to try SEAL_TSA_URL with; its stamps are made by openssl, which has to be there',
    flags: { port: optional('PORT'), folder: optional('FOLDER') },
  },
  listen: {
    summary:
      'delivers what happens in a company to an address of your own, as its webhooks would get it, signed with a secret that is shown at the start; works against any service',
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
    summary:
      'makes a real thing happen in a test company, as sale.completed, so that its webhooks tell of it; orders need a store, the one of the newest order unless --store names it',
    flags: {
      event: required('EVENT'),
      key: secret(required('API_KEY')),
      url: optional('URL'),
      store: optional('ALIAS'),
    },
    positional: 'event',
  },
  till: {
    summary: 'plays an offline till of a running service: sells, loses its connection while it uploads, and reconciles',
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
    summary:
      'shows the main job on a running service: a sale, its replay and cancellation, an offline till, a webhook, the ledger',
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

/** Usage line and summary of a verb. */
export function usageOf(name: Name): string {
  const { flags, positional, summary }: CliCommand = COMMANDS[name]
  const words = Object.entries(flags).map(([flag, { required, value, isRepeatable }]) => {
    const named = flag === positional ? value : [`--${flag}`, value ?? []].flat().join(' ')
    if (isRepeatable) return `[${named}]…`
    return required ? named : `[${named}]`
  })
  return `  ${[name, ...words].join(' ')}\n      ${summary}`
}

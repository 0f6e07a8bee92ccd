import { join, resolve } from 'node:path'
import { z } from 'zod'
import { PANEL_LIMITS } from '#access/panel-quota.ts'
import { databaseUrl, MAIN, type NamedUrl, namedUrls, readUrls } from './databases.ts'
import {
  ascendingSeconds,
  decimal,
  eventStoreUrl,
  flag,
  integer,
  masterKey,
  masterKeys,
  outsiderUrl,
  pemFile,
  ROLES,
  roles,
  secondsList,
  smtpUrl,
  trustedProxies,
  webAddress,
  witnesses,
} from './values.ts'

/** A setting that cannot be understood; the message is for whoever starts the service. */
export class WrongSetting extends Error {
  override readonly name = 'WrongSetting'
}

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Seconds after the latest attempt to pay an order at which the provider is asked, whatever was notified (PAY-9). */
export const SWEEP_SECONDS: readonly number[] = [
  ...[1, 5, 15].map((minutes) => minutes * MINUTE),
  ...[1, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 3, 4, 5, 6, 7].map((days) => days * DAY),
]

/** The payment provider, and the one to try things with (`tillbook provider-sandbox`), whose money is none. */
const PROVIDER_URL = 'https://api.mercadopago.com'
export const SANDBOX_URL = 'http://127.0.0.1:4000'

/** Every setting with its default; one that is set to nothing is as good as absent. */
const settings = z.object({
  /** TCP port; 0 takes any that is free. */
  PORT: integer(0, 65_535).default(3000),
  /** Address to listen on; by default all of IPv4, which every container has. */
  HOST: z.string().default('0.0.0.0'),
  /** Certificate with its chain, and its key (PEM): with both the service speaks HTTPS itself. Renewed files are taken within a minute. */
  TLS_CERT_FILE: pemFile.optional(),
  TLS_KEY_FILE: pemFile.optional(),
  /** What this process does: serve the interfaces, keep the read model and the database in order, send what is due. */
  ROLES: roles.default([...ROLES]),
  /** Seconds for which an api process that was told to stop still accepts calls, so that its load balancer finds another. */
  STOP_DELAY_SECONDS: decimal(0, 300).default(1),
  /** Whoever reads /metrics has to show it; without one /metrics is for this machine and private networks only. */
  METRICS_TOKEN: z
    .string()
    .regex(/^[!-~]{16,200}$/)
    .describe('16 to 200 visible ASCII characters')
    .optional(),
  /** Folder of the embedded Postgres and of demo.json. */
  DATA_DIR: z.string().default('./data'),
  /** A Postgres of one's own, instead of the embedded one. */
  DATABASE_URL: databaseUrl.optional(),
  /** The same database as its owner, who migrates it; where the service's role may only add to ledgers. */
  DATABASE_OWNER_URL: databaseUrl.optional(),
  /** Other Postgres servers, each the home of companies of its own, by name; that of DATABASE_URL is `main`. */
  HOMES: namedUrls.optional(),
  /** The same databases as their owners. */
  HOMES_OWNER_URLS: namedUrls.optional(),
  /** Standbys that reads may go to, by home. */
  READ_URLS: readUrls.optional(),
  /** Milliseconds by which a standby may be behind its primary; one that is further behind is not read from. */
  READ_MAX_LAG_MS: integer(1, 3_600_000).default(5_000),
  /** A Postgres that may lose what it has committed, should its machine crash, is good enough. */
  ALLOW_UNDURABLE_POSTGRES: flag.default(false),
  /** An EventStoreDB (or KurrentDB) that keeps the ledgers, instead of the Postgres of the read model. */
  EVENTSTORE_URL: eventStoreUrl.optional(),
  /** Demonstration companies at the start; by default only with the embedded Postgres. */
  SEED_DEMO: flag.optional(),
  /** Calls a minute, all keys of a company summed; the same for an address without a key. */
  QUOTA_PER_MINUTE: integer(1, 1_000_000).default(120),
  /** Calls on a company's calendar day, all its keys summed. */
  QUOTA_PER_DAY: integer(1, 1_000_000_000).default(50_000),
  /** Bytes of bodies on a company's calendar day, all its keys and tills summed. */
  QUOTA_BYTES_PER_DAY: integer(1_048_576, 1_000_000_000_000_000).default(1_073_741_824),
  /** Room in memory for pages of lists that may be asked for again, in MiB; 0 keeps none. */
  PAGE_CACHE_MIB: integer(0, 65_536).default(16),
  /** Seconds that an answer as of a moment of the past may take, and may wait for its turn. */
  AS_OF_SECONDS: decimal(0.1, 600).default(10),
  /** Calls a minute of a token of the sync interface. */
  SYNC_QUOTA_PER_MINUTE: integer(1, 1_000_000).default(600),
  /** Calls of the panel a minute: of a session, of a user, of all users of a company. */
  PANEL_QUOTA_PER_SESSION: integer(1, 1_000_000).default(PANEL_LIMITS.ofSession),
  PANEL_QUOTA_PER_USER: integer(1, 1_000_000).default(PANEL_LIMITS.ofUser),
  PANEL_QUOTA_PER_COMPANY: integer(1, 1_000_000).default(PANEL_LIMITS.ofCompany),
  /** Days until such a token expires; by default it lives until its user logs out. */
  SYNC_TOKEN_DAYS: integer(1, 3_650).optional(),
  /** Where callers reach the service; by default this machine and PORT. */
  PUBLIC_URL: webAddress.optional(),
  /** Whose X-Forwarded-* headers are believed; nobody's by default. */
  TRUST_PROXY: trustedProxies.default(false),
  /** Webhooks may call http, private and loopback addresses; by default only with the embedded Postgres. */
  WEBHOOK_ALLOW_PRIVATE: flag.optional(),
  /** Seconds until each retry of a delivery, after the first attempt. */
  WEBHOOK_RETRY_SECONDS: secondsList.default([60, 300, 1_800, 7_200, 21_600]),
  /** Hours without any response after which an endpoint is switched off. */
  WEBHOOK_SWITCH_OFF_HOURS: decimal(0.0001, 8_760).default(24),
  /** The mail server, with user and password where it asks for them; without it notices are logged and shown in the panel only. */
  SMTP_URL: smtpUrl.optional(),
  /** Whom e-mails come from; by default an address at the host of PUBLIC_URL. */
  SMTP_FROM: z.string().optional(),
  /** Base URL of the payment provider's API; by default the sandbox's where demonstration companies are made. */
  PAYMENT_PROVIDER_URL: webAddress.optional(),
  /** Base URL of the provider that stores of test companies pay at; by default that of all others. */
  PAYMENT_SANDBOX_URL: webAddress.optional(),
  /** The key that all secrets in the database are sealed with; by default in DATA_DIR, made on the first start. */
  MASTER_KEY: masterKey.optional(),
  /** Others that still open, while MASTER_KEY is being changed. */
  MASTER_KEY_FORMER: masterKeys.optional(),
  /** The key that seals of ledgers are signed with, as PEM; made on first use. By default in DATA_DIR. */
  SEAL_KEY_FILE: z.string().optional(),
  /** Years after its authorization for which a fiscal document needs the person that it names. */
  RETENTION_YEARS: integer(0, 100).default(5),
  /** Hours after which ledgers that have moved are sealed, to files in DATA_DIR; by default only when somebody asks. */
  SEAL_EVERY_HOURS: decimal(0.001, 168).optional(),
  /** Witnesses that cosign checkpoints of the installation log, each with the key that its cosignatures are verified with. */
  WITNESS_URLS: witnesses.optional(),
  /** A time-stamp authority (RFC 3161) for these checkpoints. */
  SEAL_TSA_URL: outsiderUrl.optional(),
  /** Certificates (PEM) that the authority's has to come from; without it any that signed rightly is taken. */
  SEAL_TSA_CA_FILE: z.string().optional(),
  /** A folder on the network to which each of these checkpoints is put once, by `PUT` with `If-None-Match: *`. */
  SEAL_PUSH_URL: outsiderUrl.optional(),
  /** Shown there as a bearer token. */
  SEAL_PUSH_TOKEN: z
    .string()
    .regex(/^[!-~]{1,4096}$/)
    .describe('up to 4096 visible ASCII characters')
    .optional(),
  /** A folder in which each of these checkpoints becomes a file. */
  SEAL_PUSH_FOLDER: z
    .string()
    .transform((path) => resolve(path))
    .optional(),
  /** Seconds after an attempt to pay at which the provider is asked what became of it, whatever it has notified. */
  PAYMENT_SWEEP_SECONDS: ascendingSeconds.default([...SWEEP_SECONDS]),
  /** The least severe messages that are logged. */
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .describe('fatal, error, warn, info, debug, trace or silent')
    .default('info'),
})

/** Names of all settings; docs/operations.md has a row for each. */
export const SETTING_NAMES: readonly string[] = Object.keys(settings.shape)

/** All settings, each with a value. */
export interface Config
  extends Omit<
    z.infer<typeof settings>,
    'SEED_DEMO' | 'PUBLIC_URL' | 'PAYMENT_PROVIDER_URL' | 'WEBHOOK_ALLOW_PRIVATE' | 'SMTP_FROM' | 'SEAL_KEY_FILE'
  > {
  readonly SEED_DEMO: boolean
  readonly SMTP_FROM: string
  readonly WEBHOOK_ALLOW_PRIVATE: boolean
  readonly PUBLIC_URL: string
  readonly PAYMENT_PROVIDER_URL: string
  readonly SEAL_KEY_FILE: string
}

/** Reads the settings from the environment. @throws WrongSetting naming each one that is wrong, and what it should be. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''))
  const result = settings.safeParse(given)
  if (!result.success) {
    // Without the values: one of them may be a password.
    const wrong = new Set(result.error.issues.map((issue) => String(issue.path[0])))
    throw new WrongSetting([...wrong].map((name) => `${name} should be ${expectation(name)}`).join('\n'))
  }
  const config = result.data
  if (config.MASTER_KEY_FORMER && !config.MASTER_KEY)
    throw new WrongSetting('MASTER_KEY_FORMER goes with MASTER_KEY; a file of keys has its former ones in it')
  for (const [name, other] of GO_WITH)
    if (config[name] !== undefined && config[other] === undefined) throw new WrongSetting(`${name} goes with ${other}`)
  const isEmbedded = config.DATABASE_URL === undefined
  if (isEmbedded && config.DATABASE_OWNER_URL)
    throw new WrongSetting('DATABASE_OWNER_URL goes with DATABASE_URL; the embedded Postgres has an owner of its own')
  assertHomes(config)
  const DATA_DIR = resolve(config.DATA_DIR)
  const SEED_DEMO = config.SEED_DEMO ?? isEmbedded
  const PUBLIC_URL = config.PUBLIC_URL ?? `${config.TLS_CERT_FILE ? 'https' : 'http'}://127.0.0.1:${config.PORT}`
  return {
    ...config,
    DATA_DIR,
    SEAL_KEY_FILE: resolve(config.SEAL_KEY_FILE ?? join(DATA_DIR, 'seal-key.pem')),
    SEED_DEMO,
    PAYMENT_PROVIDER_URL: config.PAYMENT_PROVIDER_URL ?? (SEED_DEMO ? SANDBOX_URL : PROVIDER_URL),
    WEBHOOK_ALLOW_PRIVATE: config.WEBHOOK_ALLOW_PRIVATE ?? isEmbedded,
    PUBLIC_URL,
    SMTP_FROM: config.SMTP_FROM ?? `Tillbook <nao-responda@${new URL(PUBLIC_URL).hostname}>`,
  }
}

/** What says nothing without the other. */
const GO_WITH = [
  ['TLS_CERT_FILE', 'TLS_KEY_FILE'],
  ['TLS_KEY_FILE', 'TLS_CERT_FILE'],
  ['READ_URLS', 'DATABASE_URL'],
  ['SEAL_TSA_CA_FILE', 'SEAL_TSA_URL'],
  ['SEAL_PUSH_TOKEN', 'SEAL_PUSH_URL'],
] as const

/** @throws WrongSetting */
function assertHomes({
  DATABASE_URL,
  HOMES = [],
  HOMES_OWNER_URLS = [],
  READ_URLS = {},
}: z.infer<typeof settings>): void {
  const isMain = HOMES.find(({ url }) => url === DATABASE_URL)
  if (isMain) throw new WrongSetting(`HOMES has the database of DATABASE_URL, which is ${MAIN}, as ${isMain.name}`)
  for (const { name } of HOMES_OWNER_URLS)
    if (!HOMES.some((home) => home.name === name))
      throw new WrongSetting(`HOMES_OWNER_URLS has ${name}, which HOMES has not`)
  for (const name of Object.keys(READ_URLS))
    if (name !== MAIN && !HOMES.some((home) => home.name === name))
      throw new WrongSetting(`READ_URLS has ${name}, which HOMES has not`)
}

function expectation(name: string): string {
  const schema = settings.shape[name as keyof typeof settings.shape]
  const inner = schema instanceof z.ZodDefault || schema instanceof z.ZodOptional ? schema.unwrap() : schema
  return (inner as z.ZodType).description ?? 'a text'
}

/** Where a home's Postgres is. */
export interface Addresses {
  readonly databaseUrl: string
  readonly ownerUrl: string | undefined
}

/** What the settings say of a further home. */
export const addressesOf = ({ HOMES_OWNER_URLS = [] }: Config, { name, url }: NamedUrl): Addresses => ({
  databaseUrl: url,
  ownerUrl: HOMES_OWNER_URLS.find((owner) => owner.name === name)?.url,
})

/** The settings of a home: what belongs to it on this machine is in a folder of its own. */
export const configOf = (config: Config, home: string): Config =>
  home === MAIN
    ? config
    : {
        ...config,
        DATA_DIR: join(config.DATA_DIR, 'homes', home),
        READ_URLS: { [MAIN]: config.READ_URLS?.[home] ?? [] },
        SEED_DEMO: false,
      }

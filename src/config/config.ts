import { randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import * as z from 'zod'
import { PANEL_LIMITS } from '#access/open-sessions.ts'
import { formatWebhookSecret, SECRET_BYTES } from '#crypto/vault.ts'
import { newId } from '#lib/ids.ts'
import { leadsToPrimary } from '#postgres/cluster.ts'
import {
  ascendingSeconds,
  attestorUrl,
  decimalSetting,
  eventStoreUrl,
  flag,
  integerSetting,
  masterKey,
  masterKeys,
  originSetting,
  PROCESS_ROLES,
  pemFile,
  percentageSetting,
  roles,
  secondsList,
  smtpUrl,
  trustedProxies,
  visibleText,
  webAddressSetting,
  witnesses,
} from './setting-values.ts'

/** Settings of the operator that interfaces use, and randomness. */
export interface Environment {
  /** Public base URL, without trailing slash. */
  readonly publicUrl: string
  /** Whether webhooks may use http and private addresses. */
  readonly allowPrivateTargets: boolean
  /** Years after its authorization for which a fiscal document needs personal data. */
  readonly retentionYears: number
  /** Commission of stores that owners create: percent with two decimals. */
  readonly storeCommission: string
  /** Whether there are demonstration companies. */
  readonly hasDemo: boolean
  /** Generates a UUID. */
  newId(): string
  /** Generates a signing secret. */
  newSecret(): string
}

export const createEnvironment = (config: Config): Environment => ({
  publicUrl: config.PUBLIC_URL,
  hasDemo: config.SEED_DEMO,
  allowPrivateTargets: config.WEBHOOK_ALLOW_PRIVATE,
  retentionYears: config.RETENTION_YEARS,
  storeCommission: config.STORE_COMMISSION_PERCENT,
  newId,
  newSecret: () => formatWebhookSecret(randomBytes(SECRET_BYTES)),
})

// Settings with database URLs.

const databaseUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//)
  .refine(isOfPrimary)
  .describe(
    'a URL like postgres://user:password@host:5432/database, several hosts with commas, target_session_attrs read-write or primary',
  )

/** Rejects URLs that select a replica: writes must not reach one. */
function isOfPrimary(url: string): boolean {
  try {
    return leadsToPrimary(url)
  } catch {
    return false
  }
}

/** One host per URL, because lag is tracked per server. */
const ONE_HOST = /^postgres(?:ql)?:\/\/[^,/?]+(?:[/?].*)?$/s

const readUrls = z
  .string()
  .transform((text): readonly string[] => text.split(',').map((url) => url.trim()))
  .refine((urls) => urls.every((url) => ONE_HOST.test(url)) && new Set(urls).size === urls.length)
  .describe('URLs of replicas with commas, like "postgres://…,postgres://…", each once and with one host')

/** An invalid setting; the message is for the operator. */
export class WrongSetting extends Error {
  override readonly name = 'WrongSetting'
}

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Seconds after the latest payment attempt at which the provider is polled, regardless of notifications. */
export const SWEEP_SECONDS: readonly number[] = [
  ...[1, 5, 15].map((minutes) => minutes * MINUTE),
  ...[1, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 3, 4, 5, 6, 7].map((days) => days * DAY),
]

/** The payment provider, and the sandbox (`tillbook provider-sandbox`). */
const PROVIDER_URL = 'https://api.mercadopago.com'
export const SANDBOX_URL = 'http://127.0.0.1:4000'

interface SettingNotes {
  /** Meaning, with its unit. */
  readonly about: string
  /** Default that the code derives from other settings. */
  readonly derived?: string
}

const NOTES = z.registry<SettingNotes>()

const setting = <S extends z.ZodType>(about: string, schema: S, derived?: string): S => {
  NOTES.add(schema, { about, ...(derived && { derived }) })
  return schema
}

const PROCESS = {
  PORT: setting('TCP port to listen on; 0 takes a free one', integerSetting(0, 65_535).default(3000)),
  HOST: setting('address of this machine to listen on', z.string().default('0.0.0.0')),
  TLS_CERT_FILE: setting(
    'certificate chain; with TLS_KEY_FILE the service speaks HTTPS. Renewed files are loaded within a minute',
    pemFile.optional(),
  ),
  TLS_KEY_FILE: setting('private key of the certificate', pemFile.optional()),
  PUBLIC_URL: setting('where clients reach the service', originSetting.optional(), 'http://127.0.0.1:PORT'),
  TRUST_PROXY: setting('proxies whose X-Forwarded-* headers are trusted', trustedProxies.default(false)),
  ROLES: setting(
    'what this process does: serve requests, maintain tables, send webhooks and e-mails',
    roles.default([...PROCESS_ROLES]),
  ),
  STOP_DELAY_SECONDS: setting(
    'seconds that a stopping api process still accepts requests, so that its load balancer can switch',
    decimalSetting(0, 300).default(1),
  ),
  METRICS_TOKEN: setting(
    'bearer token of /metrics; without it /metrics answers this machine and private networks only',
    z
      .string()
      .regex(/^[!-~]{16,200}$/)
      .describe('16 to 200 visible ASCII characters')
      .optional(),
  ),
  LOG_LEVEL: setting(
    'least severe level to log, as JSON Lines on standard output',
    z
      .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
      .describe('fatal, error, warn, info, debug, trace or silent')
      .default('info'),
  ),
  DATA_DIR: setting(
    'folder of the embedded Postgres, demo.json, master.key and checkpoints',
    z.string().default('./data'),
  ),
  SEED_DEMO: setting(
    'creates demonstration companies, once in the life of a database',
    flag.optional(),
    'true without DATABASE_URL',
  ),
}

const DATABASES = {
  DATABASE_URL: setting('your own Postgres, 15 or newer, instead of the embedded one', databaseUrl.optional()),
  DATABASE_OWNER_URL: setting(
    'the same database as its owner, who migrates it; needed if the role of the service may only append to ledgers',
    databaseUrl.optional(),
  ),
  READ_URLS: setting('read replicas of DATABASE_URL', readUrls.optional()),
  READ_MAX_LAG_MS: setting(
    'milliseconds; a replica that is further behind is not used',
    integerSetting(1, 3_600_000).default(5_000),
  ),
  ALLOW_UNDURABLE_POSTGRES: setting(
    'accepts a Postgres with fsync or full_page_writes off, which may lose commits in a crash',
    flag.default(false),
  ),
  EVENTSTORE_URL: setting('EventStoreDB or KurrentDB for the ledgers, instead of Postgres', eventStoreUrl.optional()),
}

const LIMITS = {
  QUOTA_PER_MINUTE: setting(
    'requests per minute of all keys of a company together, and of an address without a key',
    integerSetting(1, 1_000_000).default(120),
  ),
  QUOTA_PER_DAY: setting(
    'requests per calendar day of the company, all keys together',
    integerSetting(1, 1_000_000_000).default(50_000),
  ),
  QUOTA_BYTES_PER_DAY: setting(
    'bytes of bodies per calendar day of the company, all keys and tills together',
    integerSetting(1_048_576, 1_000_000_000_000_000).default(1_073_741_824),
  ),
  PAGE_CACHE_MIB: setting(
    'MiB of memory of an api process for pages of lists; 0 keeps none',
    integerSetting(0, 65_536).default(16),
  ),
  AS_OF_SECONDS: setting(
    'seconds; longest duration of an answer about the past, waiting included',
    decimalSetting(0.1, 600).default(10),
  ),
  SYNC_QUOTA_PER_MINUTE: setting('requests per minute and till token', integerSetting(1, 1_000_000).default(600)),
  PANEL_QUOTA_PER_SESSION: setting(
    'requests to the panel per minute and session; live streams and static files do not count',
    integerSetting(1, 1_000_000).default(PANEL_LIMITS.ofSession),
  ),
  PANEL_QUOTA_PER_USER: setting(
    'the same per user, over all sessions',
    integerSetting(1, 1_000_000).default(PANEL_LIMITS.ofUser),
  ),
  PANEL_QUOTA_PER_COMPANY: setting(
    'the same per company, over all users',
    integerSetting(1, 1_000_000).default(PANEL_LIMITS.ofCompany),
  ),
  SYNC_TOKEN_DAYS: setting(
    'days until a till token expires; without it a token lasts until logout',
    integerSetting(1, 3_650).optional(),
  ),
  RETENTION_YEARS: setting(
    'years after its authorization that a fiscal document needs its customer, who is not erased before',
    integerSetting(0, 100).default(5),
  ),
}

const DELIVERIES = {
  WEBHOOK_ALLOW_PRIVATE: setting(
    'allows webhooks to http, private and loopback addresses',
    flag.optional(),
    'true without DATABASE_URL',
  ),
  WEBHOOK_RETRY_SECONDS: setting(
    'seconds before each retry of a delivery',
    secondsList.default([60, 300, 1_800, 7_200, 21_600]),
  ),
  WEBHOOK_SWITCH_OFF_HOURS: setting(
    'hours without any answer until an endpoint is switched off',
    decimalSetting(0.0001, 8_760).default(24),
  ),
  SMTP_URL: setting(
    'mail server; without it notifications are logged and shown in the panel, and password links cannot be requested',
    smtpUrl.optional(),
  ),
  SMTP_FROM: setting('sender of e-mails', z.string().optional(), 'Tillbook <nao-responda@host of PUBLIC_URL>'),
  OPERATOR_EMAIL: setting(
    'gets one e-mail for each attestor that fails for a day; needs SMTP_URL',
    z.email().max(254).describe('an e-mail address').optional(),
  ),
}

const PAYMENTS = {
  PAYMENT_PROVIDER_URL: setting(
    'API of the payment provider',
    webAddressSetting.optional(),
    `${PROVIDER_URL}; with demonstration companies the sandbox, ${SANDBOX_URL}`,
  ),
  PAYMENT_SANDBOX_URL: setting(
    'API of the provider for test companies; without it PAYMENT_PROVIDER_URL',
    webAddressSetting.optional(),
  ),
  PAYMENT_CLIENT_ID: setting(
    'id of the application at the provider, by which owners connect their stores',
    visibleText(200).optional(),
  ),
  PAYMENT_CLIENT_SECRET: setting('secret of that application', visibleText(500).optional()),
  STORE_COMMISSION_PERCENT: setting(
    'commission of stores that owners open in the panel; `tillbook store update` sets it per store',
    percentageSetting.default('5.00'),
  ),
  PAYMENT_SWEEP_SECONDS: setting(
    'seconds after a payment attempt at which the provider is polled, regardless of notifications',
    ascendingSeconds.default([...SWEEP_SECONDS]),
  ),
}

const KEYS = {
  MASTER_KEY: setting(
    'encrypts all secrets in the database; the same for all processes. Without it, master.key in DATA_DIR',
    masterKey.optional(),
  ),
  MASTER_KEY_FORMER: setting('former master keys that still decrypt during a rotation', masterKeys.optional()),
  SEAL_KEY_FILE: setting(
    'private key of checkpoints, PEM; created on first use; the same for all processes',
    z.string().optional(),
    'seal-key.pem in DATA_DIR',
  ),
  SEAL_EVERY_HOURS: setting(
    'hours between checkpoints, written to DATA_DIR; without it only on request',
    decimalSetting(0.001, 168).optional(),
  ),
  WITNESS_URLS: setting('witnesses that cosign checkpoints of the installation log', witnesses.optional()),
  SEAL_TSA_URL: setting('time-stamp authority (RFC 3161) for these checkpoints', attestorUrl.optional()),
  SEAL_TSA_CA_FILE: setting(
    'trusted root certificates of the authority, PEM; without it any valid signature is accepted',
    z.string().optional(),
  ),
  SEAL_PUSH_URL: setting(
    'remote folder to which each checkpoint is `PUT` once with `If-None-Match: *`',
    attestorUrl.optional(),
  ),
  SEAL_PUSH_TOKEN: setting('bearer token of SEAL_PUSH_URL', visibleText(4096).optional()),
  SEAL_PUSH_FOLDER: setting(
    'local folder in which each checkpoint becomes a file',
    z
      .string()
      .transform((path) => resolve(path))
      .optional(),
  ),
}

const SECTIONS = {
  Process: PROCESS,
  Databases: DATABASES,
  Limits: LIMITS,
  'Webhooks and e-mail': DELIVERIES,
  Payments: PAYMENTS,
  'Keys and proofs': KEYS,
}

/** All settings with defaults; an empty value counts as absent. */
const settings = z.object({ ...PROCESS, ...DATABASES, ...LIMITS, ...DELIVERIES, ...PAYMENTS, ...KEYS })

/** Names of all settings. */
export const SETTING_NAMES: readonly string[] = Object.keys(settings.shape)

/** A setting for operators: its default, format and meaning. */
export interface DocumentedSetting {
  readonly name: string
  readonly default: string | undefined
  readonly format: string
  readonly about: string
}

/** All settings by section. */
export const documentedSettings = (): [section: string, settings: DocumentedSetting[]][] =>
  Object.entries(SECTIONS).map(([section, shape]) => [
    section,
    Object.entries<z.ZodType>(shape).map(([name, schema]) => {
      const { about = '', derived } = NOTES.get(schema) ?? {}
      const { data } = schema.safeParse(undefined)
      return {
        name,
        default: derived ?? (data === undefined ? undefined : `${data}`),
        format: expectation(name),
        about,
      }
    }),
  ])

/** All settings with their values. */
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

/** Reads the settings from the environment. @throws WrongSetting, listing each wrong setting and what is expected */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''))
  const result = settings.safeParse(given)
  if (!result.success) {
    // Without values: one of them may be a password.
    const wrong = new Set(result.error.issues.map((issue) => String(issue.path[0])))
    throw new WrongSetting([...wrong].map((name) => `${name} should be ${expectation(name)}`).join('\n'))
  }
  const config = result.data
  if (config.MASTER_KEY_FORMER && !config.MASTER_KEY)
    throw new WrongSetting('MASTER_KEY_FORMER requires MASTER_KEY; a key file contains its former keys')
  for (const [name, other] of GO_WITH)
    if (config[name] !== undefined && config[other] === undefined) throw new WrongSetting(`${name} requires ${other}`)
  const isEmbedded = config.DATABASE_URL === undefined
  if (isEmbedded && config.DATABASE_OWNER_URL)
    throw new WrongSetting('DATABASE_OWNER_URL requires DATABASE_URL; the embedded Postgres has its own owner')
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

/** Settings that require another one. */
const GO_WITH = [
  ['TLS_CERT_FILE', 'TLS_KEY_FILE'],
  ['TLS_KEY_FILE', 'TLS_CERT_FILE'],
  ['READ_URLS', 'DATABASE_URL'],
  ['SEAL_TSA_CA_FILE', 'SEAL_TSA_URL'],
  ['SEAL_PUSH_TOKEN', 'SEAL_PUSH_URL'],
  ['PAYMENT_CLIENT_ID', 'PAYMENT_CLIENT_SECRET'],
  ['PAYMENT_CLIENT_SECRET', 'PAYMENT_CLIENT_ID'],
] as const

function expectation(name: string): string {
  const schema = settings.shape[name as keyof typeof settings.shape]
  const inner = schema instanceof z.ZodDefault || schema instanceof z.ZodOptional ? schema.unwrap() : schema
  return (inner as z.ZodType).description ?? 'a text'
}

/** URLs of a database. */
export interface Addresses {
  readonly databaseUrl: string
  readonly ownerUrl: string | undefined
}

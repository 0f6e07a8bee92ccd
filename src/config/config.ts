import { join, resolve } from 'node:path'
import * as z from 'zod'
import { PANEL_LIMITS } from '#access/panel-quota.ts'
import { databaseUrl, readUrls } from './databases.ts'
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
} from './values.ts'

/** An invalid setting; the message is for the operator. */
export class WrongSetting extends Error {
  override readonly name = 'WrongSetting'
}

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Seconds after the latest payment attempt at which the provider is polled, regardless of notifications (PAY-9). */
export const SWEEP_SECONDS: readonly number[] = [
  ...[1, 5, 15].map((minutes) => minutes * MINUTE),
  ...[1, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 3, 4, 5, 6, 7].map((days) => days * DAY),
]

/** The payment provider, and the sandbox (`tillbook provider-sandbox`). */
const PROVIDER_URL = 'https://api.mercadopago.com'
export const SANDBOX_URL = 'http://127.0.0.1:4000'

/** All settings with defaults; an empty value counts as absent. */
const settings = z.object({
  /** TCP port; 0 chooses a free one. */
  PORT: integerSetting(0, 65_535).default(3000),
  /** Address to listen on; all of IPv4 by default, which every container has. */
  HOST: z.string().default('0.0.0.0'),
  /**
   * Certificate chain and key (PEM): with both, the service speaks HTTPS itself. Renewed files are loaded within a
   * minute.
   */
  TLS_CERT_FILE: pemFile.optional(),
  TLS_KEY_FILE: pemFile.optional(),
  /** Roles of this process: serve the interfaces, maintain read model and database, send what is due. */
  ROLES: roles.default([...PROCESS_ROLES]),
  /** Seconds during which a stopping api process still accepts requests, so that its load balancer can switch. */
  STOP_DELAY_SECONDS: decimalSetting(0, 300).default(1),
  /** Token of /metrics; without one /metrics answers this machine and private networks only. */
  METRICS_TOKEN: z
    .string()
    .regex(/^[!-~]{16,200}$/)
    .describe('16 to 200 visible ASCII characters')
    .optional(),
  /** Folder of the embedded Postgres and of demo.json. */
  DATA_DIR: z.string().default('./data'),
  /** An external Postgres instead of the embedded one. */
  DATABASE_URL: databaseUrl.optional(),
  /** The same database as its owner, who migrates it; needed if the service's role may only append to ledgers. */
  DATABASE_OWNER_URL: databaseUrl.optional(),
  /** Read replicas of that database. */
  READ_URLS: readUrls.optional(),
  /** Largest lag in ms of a replica that is read from. */
  READ_MAX_LAG_MS: integerSetting(1, 3_600_000).default(5_000),
  /** Accepts a Postgres that may lose commits when its machine crashes. */
  ALLOW_UNDURABLE_POSTGRES: flag.default(false),
  /** EventStoreDB (or KurrentDB) for the ledgers, instead of the read model's Postgres. */
  EVENTSTORE_URL: eventStoreUrl.optional(),
  /** Creates demonstration companies at the start; by default only with the embedded Postgres. */
  SEED_DEMO: flag.optional(),
  /** Requests per minute, summed over a company's keys; the same per address without a key. */
  QUOTA_PER_MINUTE: integerSetting(1, 1_000_000).default(120),
  /** Requests per calendar day of the company, summed over its keys. */
  QUOTA_PER_DAY: integerSetting(1, 1_000_000_000).default(50_000),
  /** Body bytes per calendar day of the company, summed over its keys and tills. */
  QUOTA_BYTES_PER_DAY: integerSetting(1_048_576, 1_000_000_000_000_000).default(1_073_741_824),
  /** Memory for cached list pages, in MiB; 0 disables the cache. */
  PAGE_CACHE_MIB: integerSetting(0, 65_536).default(16),
  /** Time limit of an as-of answer and of its wait, in seconds. */
  AS_OF_SECONDS: decimalSetting(0.1, 600).default(10),
  /** Requests per minute and till token. */
  SYNC_QUOTA_PER_MINUTE: integerSetting(1, 1_000_000).default(600),
  /** Requests to the panel per minute: of a session, of a user, of all users of a company. */
  PANEL_QUOTA_PER_SESSION: integerSetting(1, 1_000_000).default(PANEL_LIMITS.ofSession),
  PANEL_QUOTA_PER_USER: integerSetting(1, 1_000_000).default(PANEL_LIMITS.ofUser),
  PANEL_QUOTA_PER_COMPANY: integerSetting(1, 1_000_000).default(PANEL_LIMITS.ofCompany),
  /** Days until a till token expires; by default only logout ends it. */
  SYNC_TOKEN_DAYS: integerSetting(1, 3_650).optional(),
  /** Public base URL; by default this machine and PORT. */
  PUBLIC_URL: originSetting.optional(),
  /** Proxies whose X-Forwarded-* headers are trusted; none by default. */
  TRUST_PROXY: trustedProxies.default(false),
  /** Allows webhooks to http, private and loopback addresses; by default only with the embedded Postgres. */
  WEBHOOK_ALLOW_PRIVATE: flag.optional(),
  /** Retry schedule of deliveries: seconds before each retry. */
  WEBHOOK_RETRY_SECONDS: secondsList.default([60, 300, 1_800, 7_200, 21_600]),
  /** Hours without any answer after which an endpoint is switched off. */
  WEBHOOK_SWITCH_OFF_HOURS: decimalSetting(0.0001, 8_760).default(24),
  /** Mail server with credentials; without it notifications are logged and shown in the panel only. */
  SMTP_URL: smtpUrl.optional(),
  /** Sender of e-mails; by default an address at the host of PUBLIC_URL. */
  SMTP_FROM: z.string().optional(),
  /** Who is told of what needs an operator, such as attestors that fail for a day; needs SMTP_URL. */
  OPERATOR_EMAIL: z.email().max(254).optional(),
  /** Base URL of the payment provider's API; the sandbox's by default if demonstration companies are created. */
  PAYMENT_PROVIDER_URL: webAddressSetting.optional(),
  /** Base URL of the provider for stores of test companies; PAYMENT_PROVIDER_URL by default. */
  PAYMENT_SANDBOX_URL: webAddressSetting.optional(),
  /** Credentials of the service's application at the provider: owners connect their stores with them. */
  PAYMENT_CLIENT_ID: visibleText(200).optional(),
  PAYMENT_CLIENT_SECRET: visibleText(500).optional(),
  /** Commission in percent of stores that owners open; the command line sets it per store. */
  STORE_COMMISSION_PERCENT: percentageSetting.default('5.00'),
  /** Master key that seals all secrets in the database; by default in DATA_DIR, created on the first start. */
  MASTER_KEY: masterKey.optional(),
  /** Former master keys that still open values during a rotation. */
  MASTER_KEY_FORMER: masterKeys.optional(),
  /** Private key of checkpoints, as PEM; created on first use, by default in DATA_DIR. */
  SEAL_KEY_FILE: z.string().optional(),
  /** Years after authorization during which a fiscal document keeps the person it names. */
  RETENTION_YEARS: integerSetting(0, 100).default(5),
  /** Interval of checkpoints in hours, written to DATA_DIR; by default only on request. */
  SEAL_EVERY_HOURS: decimalSetting(0.001, 168).optional(),
  /** Witnesses that cosign checkpoints of the installation log, each with its public key. */
  WITNESS_URLS: witnesses.optional(),
  /** Time-stamp authority (RFC 3161) for these checkpoints. */
  SEAL_TSA_URL: attestorUrl.optional(),
  /** Trusted root certificates (PEM) of the authority; without it any valid signature is accepted. */
  SEAL_TSA_CA_FILE: z.string().optional(),
  /** URL of a remote folder to which each of these checkpoints is `PUT` once with `If-None-Match: *`. */
  SEAL_PUSH_URL: attestorUrl.optional(),
  /** Its bearer token. */
  SEAL_PUSH_TOKEN: visibleText(4096).optional(),
  /** Local folder in which each of these checkpoints becomes a file. */
  SEAL_PUSH_FOLDER: z
    .string()
    .transform((path) => resolve(path))
    .optional(),
  /** Seconds after a payment attempt at which the provider is polled, regardless of notifications. */
  PAYMENT_SWEEP_SECONDS: ascendingSeconds.default([...SWEEP_SECONDS]),
  /** Lowest logged level. */
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .describe('fatal, error, warn, info, debug, trace or silent')
    .default('info'),
})

/** Names of all settings; the settings page of the docs has a row for each. */
export const SETTING_NAMES: readonly string[] = Object.keys(settings.shape)

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

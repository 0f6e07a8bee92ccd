import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createApiAuthenticator, type QuotaLimits } from '#access/api-authenticator.ts'
import { KEY_BYTES, modeOf, newKey } from '#access/api-keys.ts'
import { createInvitations } from '#access/invitations.ts'
import { createLogin } from '#access/login.ts'
import { createAddressLimit, createMinuteLimit } from '#access/minute-limit.ts'
import type { PanelLimits } from '#access/panel-quota.ts'
import { createPasswordLinks } from '#access/password-links.ts'
import { createSessions, type PanelAccess } from '#access/sessions.ts'
import { createTokens, type Tokens } from '#access/sync-access.ts'
import { createEventFeed } from '#api/event-feed.ts'
import { createPageCache } from '#api/page-cache.ts'
import type { Config } from '#config/config.ts'
import { SECRET_BYTES, webhookSecretOf } from '#domain/webhook-secret.ts'
import { createCompress } from '#http/compression.ts'
import { createRequestLog } from '#http/request-log/request-log.ts'
import { readSchemasOf } from '#ledger/rebuild/version.ts'
import { createKeyedSemaphore, type SemaphoreLimits } from '#lib/keyed-semaphore.ts'
import { createMemoryBudget, type MemoryLimits } from '#lib/memory-budget.ts'
import { createLiveUpdates } from '#live/updates.ts'
import { createMailer, type Mailer } from '#notifications/mailer.ts'
import { NOTIFICATIONS_PER_MINUTE } from '#payment-notifications/receiver.ts'
import { createPool } from '#postgres/pool.ts'
import { CHECKOUTS_PER_MINUTE } from '#public-pages/checkout/checkout.ts'
import { countedAuthenticator } from '#service/metrics/counted-authenticator.ts'
import type { Metrics } from '#service/metrics/metrics.ts'
import { createOutgoing } from '#till-sync/outgoing.ts'
import type { InterfaceOptions } from './app.ts'
import type { RunningRole, SharedServices } from './role.ts'

const MEBIBYTE = 1_048_576

/** What callers' bodies may take in memory, until they are answered. A body has 1 MB, a till's list 5. */
const BODIES: MemoryLimits = { allBytes: 64 * MEBIBYTE, companyBytes: 32 * MEBIBYTE }

/**
 * Calls with large bodies that are read and answered: of one company, because slow senders must not keep those of others out.
 * Of those that wait no body is read.
 */
const LARGE_CALLS: SemaphoreLimits = { running: Number.POSITIVE_INFINITY, runningOfKey: 4, waiting: 256 }

/** Pages and forms of the panel, of one user: browsers ask for six at a time. A minute's quota of two sessions fits in the line. */
const PANEL_TURNS: SemaphoreLimits = { running: Number.POSITIVE_INFINITY, runningOfKey: 6, waiting: 1_024 }

/** What strangers' bodies may take, for each of the four that anybody may send. A login has up to 16 KB, a notification 8. */
const STRANGERS: MemoryLimits = { allBytes: 16 * MEBIBYTE, companyBytes: MEBIBYTE / 2 }

/** The gate sends one statement at a time. */
const GATE_CONNECTIONS = 1

/** All calls wait for it, so that a connection that died without a word must be noticed soon (after twice as long). */
const GATE_STATEMENT_TIMEOUT_MS = 5_000

export interface Interfaces extends RunningRole {
  /** What they are made with. */
  readonly options: InterfaceOptions
  /** Ends what would never be answered to its end, as the streams of open pages: before requests are waited for. */
  leave(): Promise<void>
}

/** What is counted of interfaces. */
type InterfaceFigures = Pick<Metrics, 'onPage' | 'onNotified' | 'onBytes' | 'watchPool' | 'watchShared'>

interface InterfaceDependencies extends Pick<SharedServices, 'config' | 'core' | 'databaseUrl' | 'provider' | 'log'> {
  readonly metrics: InterfaceFigures
  readonly common: CommonServices
  /** Over all homes, where there are several; the home's own by default. */
  readonly access?: InterfaceAccess
}

const gatePoolOf = (databaseUrl: string, { model }: SharedServices['core']) =>
  createPool(databaseUrl, {
    max: GATE_CONNECTIONS,
    statement_timeout_ms: GATE_STATEMENT_TIMEOUT_MS,
    keyLookupsOnly: true,
    read_schemas: readSchemasOf(model),
    application_name: 'tillbook gate',
  })

/** Who is let in, and by what. */
export interface InterfaceAccess extends Pick<PanelAccess, 'login' | 'sessions' | 'invitations' | 'passwordLinks'> {
  readonly tokens: Tokens
}

/** That of one home. */
function accessOf({ config, core, log }: InterfaceDependencies, mailer: Mailer | null): InterfaceAccess {
  const { pool, writer } = core
  const login = createLogin(pool)
  const links = { pool, writer, login, mailer, publicUrl: config.PUBLIC_URL, log }
  return {
    login,
    invitations: createInvitations(links),
    passwordLinks: createPasswordLinks(links),
    sessions: createSessions(pool, (error) => log('the use of a session could not be noted', error), {
      limits: panelLimitsOf(config),
    }),
    tokens: createTokens(pool, config.SYNC_TOKEN_DAYS ?? null),
  }
}

/** What callers share, watched; strangers apart from companies. */
function openShared({ watchShared }: InterfaceFigures) {
  const bodies = createMemoryBudget(BODIES)
  const largeCalls = createKeyedSemaphore(LARGE_CALLS)
  const panelTurns = createKeyedSemaphore(PANEL_TURNS)
  const outgoing = createOutgoing()
  watchShared('body_bytes', bodies)
  watchShared('large_calls', largeCalls)
  watchShared('panel_calls', panelTurns)
  watchShared('downloads', outgoing.waiting)
  watchShared('download_bytes', outgoing.bytes)
  const strangers = {
    panelLogins: createMemoryBudget(STRANGERS),
    tillLogins: createMemoryBudget(STRANGERS),
    notifications: createMemoryBudget(STRANGERS),
    checkouts: createMemoryBudget(STRANGERS),
  }
  return { bodies, largeCalls, panelTurns, outgoing, strangers }
}

/** What the interfaces of a process have in common, of whichever home. It is closed after the last of them. */
export interface CommonServices {
  readonly options: ReturnType<typeof commonOf>
  /** Null without a mail server. */
  readonly mailer: Mailer | null
  close(): void
}

export function openCommon(config: Config, metrics: InterfaceFigures, newId: () => string): CommonServices {
  const mailer = config.SMTP_URL === undefined ? null : createMailer(config.SMTP_URL, config.SMTP_FROM)
  return { options: commonOf(config, metrics, newId), mailer, close: () => mailer?.close() }
}

function commonOf(config: Config, metrics: InterfaceFigures, newId: () => string) {
  const limits = limitsOf(config)
  return {
    limits,
    panelLimits: panelLimitsOf(config),
    pages: createPageCache(config.PAGE_CACHE_MIB * MEBIBYTE),
    compress: createCompress(),
    addresses: createAddressLimit(limits),
    calls: createMinuteLimit({ perMinute: config.SYNC_QUOTA_PER_MINUTE }),
    ...openShared(metrics),
    notificationLimit: createAddressLimit({ perMinute: NOTIFICATIONS_PER_MINUTE }),
    checkoutLimit: createAddressLimit({ perMinute: CHECKOUTS_PER_MINUTE }),
    publicUrl: config.PUBLIC_URL,
    newId,
    newSecret: () => webhookSecretOf(randomBytes(SECRET_BYTES)),
    allowPrivateTargets: config.WEBHOOK_ALLOW_PRIVATE,
    retentionYears: config.RETENTION_YEARS,
    storeCommission: config.STORE_COMMISSION_PERCENT,
  }
}

/** Opens what the HTTP interfaces of a home are made with. Is stopped after the last request was answered. */
export function openInterfaces(dependencies: InterfaceDependencies): Interfaces {
  const { config, core, databaseUrl, provider, metrics, common, log } = dependencies
  const gatePool = gatePoolOf(databaseUrl, core)
  metrics.watchPool('gate', gatePool)
  // A copy has no mail server, whatever the settings say.
  const mailer = config.SMTP_URL === undefined ? null : common.mailer
  const { tokens, ...panel } = dependencies.access ?? accessOf(dependencies, mailer)
  const { calls: tillCalls, ...options } = common.options
  const live = createLiveUpdates({
    databaseUrl,
    pool: core.pool,
    onError: (error) => log('open pages do not follow: live updates cannot be heard', error),
  })
  const feed = createEventFeed({ ...core, live })
  metrics.watchShared('event_streams', feed)
  const calls = createRequestLog({
    pool: core.pool,
    onError: (error) => log('calls could not be logged', error),
  })
  metrics.watchShared('call_log', calls)
  return {
    options: {
      ...core,
      ...options,
      feed,
      calls,
      onPage: metrics.onPage,
      gate: countedAuthenticator(createApiAuthenticator(gatePool, options.limits), metrics),
      sync: { login: panel.login, tokens, calls: tillCalls },
      live,
      panel: { ...panel, newKey: (isTest) => newKey(randomBytes(KEY_BYTES), modeOf(isTest)) },
      provider,
      onNotified: metrics.onNotified,
      log,
    },
    leave: live.close,
    async stop() {
      await calls.stop()
      await gatePool.end()
    },
  }
}

const limitsOf = (config: Config): QuotaLimits => ({
  perMinute: config.QUOTA_PER_MINUTE,
  perDay: config.QUOTA_PER_DAY,
  bytesPerDay: config.QUOTA_BYTES_PER_DAY,
})

export const panelLimitsOf = (config: Config): PanelLimits => ({
  ofSession: config.PANEL_QUOTA_PER_SESSION,
  ofUser: config.PANEL_QUOTA_PER_USER,
  ofCompany: config.PANEL_QUOTA_PER_COMPANY,
})

/**
 * Makes the demonstration companies where they are asked for, and says where they can be found; null when there are none. Not
 * before all that an event store holds is known: its companies would be taken for those that are yet to be made.
 */
export async function seed({ core, config, seedDemo, log }: SharedServices): Promise<string | null> {
  if (!config.SEED_DEMO || core.standing.trouble()) return null
  const { event_store = 'up' } = await core.health()
  if (event_store !== 'up') {
    log('demo companies are left to the next start', new Error(`the event store is ${event_store}`))
    return null
  }
  const demoFile = join(config.DATA_DIR, 'demo.json')
  return (await seedDemo(core, { baseUrl: config.PUBLIC_URL, demoFile })) ? demoFile : null
}

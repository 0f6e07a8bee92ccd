import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createApiAuthenticator, type QuotaLimits } from '#access/api-authenticator.ts'
import { KEY_BYTES, modeOf, newKey } from '#access/api-keys.ts'
import { createInvitations } from '#access/invitations.ts'
import { createLogin } from '#access/login.ts'
import { type AddressLimit, createAddressLimit, createMinuteLimit } from '#access/minute-limit.ts'
import type { PanelLimits } from '#access/panel-quota.ts'
import { createPasswordLinks } from '#access/password-links.ts'
import { peopleOf } from '#access/people.ts'
import { createSecondFactors } from '#access/second-factors.ts'
import { createSessions } from '#access/sessions.ts'
import { createTokens } from '#access/sync-access.ts'
import type { Config } from '#config/config.ts'
import { SECRET_BYTES, webhookSecretOf } from '#domain/webhook-secret.ts'
import { createCompress } from '#http/compression.ts'
import { createOutgoing } from '#http/outgoing.ts'
import { createPageCache } from '#http/page-cache.ts'
import { createRequestLog } from '#http/request-log/request-log.ts'
import { newId } from '#lib/ids.ts'
import { createKeyedSemaphore, type SemaphoreLimits } from '#lib/keyed-semaphore.ts'
import { createMemoryBudget, type MemoryLimits } from '#lib/memory-budget.ts'
import { createLiveUpdates } from '#live/updates.ts'
import { createMailer, type Mailer } from '#notifications/mailer.ts'
import { NOTIFICATIONS_PER_MINUTE } from '#payment-notifications/receiver.ts'
import { CHECKOUTS_PER_MINUTE } from '#public-pages/checkout/checkout.ts'
import { PICTURES_PER_MINUTE } from '#public-pages/pictures.ts'
import { countedAuthenticator } from '#service/metrics/counted-authenticator.ts'
import type { Metrics } from '#service/metrics/metrics.ts'
import type { Services } from '#services.ts'
import { createEventFeed } from '#webhooks/event-feed.ts'
import type { RunningRole, SharedServices } from './role.ts'

const MEBIBYTE = 1_048_576

/** Memory for request bodies until their answers are sent. A body has at most 1 MB, an upload of a till 5. */
const BODIES: MemoryLimits = { allBytes: 64 * MEBIBYTE, companyBytes: 32 * MEBIBYTE }

/**
 * Concurrent requests with large bodies, limited per company so that slow senders do not block other companies. The
 * body of a waiting request is not read.
 */
const LARGE_CALLS: SemaphoreLimits = { running: Number.POSITIVE_INFINITY, runningOfKey: 4, waiting: 256 }

/**
 * Panel pages and forms per user. Browsers send six requests at a time. The queue holds the quota of two sessions for a
 * minute.
 */
const PANEL_TURNS: SemaphoreLimits = { running: Number.POSITIVE_INFINITY, runningOfKey: 6, waiting: 1_024 }

/**
 * Memory for bodies of unauthenticated clients, separate for each of the four kinds. A login has up to 16 KB, a
 * notification 8.
 */
const STRANGERS: MemoryLimits = { allBytes: 16 * MEBIBYTE, companyBytes: MEBIBYTE / 2 }

export interface Interfaces extends RunningRole {
  readonly services: Services
  /**
   * Ends requests that have no natural end, such as streams of open pages. Called before the shutdown waits for
   * requests.
   */
  leave(): Promise<void>
}

type InterfaceFigures = Pick<Metrics, 'onPage' | 'onNotified' | 'onBytes' | 'watchPool' | 'watchShared'>

interface InterfaceDependencies
  extends Pick<SharedServices, 'config' | 'core' | 'databaseUrl' | 'provider' | 'connector' | 'log'> {
  readonly metrics: InterfaceFigures
  /** That of `openAddressLimit`. */
  readonly addresses: AddressLimit
}

/** Login, sessions and tokens of the interfaces. */
function accessOf({ config, core, log }: InterfaceDependencies, mailer: Mailer | null) {
  const { pool, gate, writer } = core
  const login = createLogin(gate)
  const links = { pool, writer, login, mailer, publicUrl: config.PUBLIC_URL, log }
  return {
    login,
    invitations: createInvitations(links),
    passwordLinks: createPasswordLinks(links),
    secondFactors: createSecondFactors({ ...links, vault: core.vault }),
    companiesOf: peopleOf(gate).companiesOf,
    sessions: createSessions(
      gate,
      (error) => log('the use of a session could not be noted', error),
      panelLimitsOf(config),
    ),
    tokens: createTokens(gate, { days: config.SYNC_TOKEN_DAYS ?? null, secret: core.requestSecret }),
  }
}

/** Shared limits, exported as metrics. Unauthenticated clients and companies have separate ones. */
function openShared({ watchShared }: InterfaceFigures) {
  const bodies = createMemoryBudget(BODIES)
  const largeCalls = createKeyedSemaphore(LARGE_CALLS)
  const panelTurns = createKeyedSemaphore(PANEL_TURNS)
  const outgoing = createOutgoing()
  watchShared('body_bytes', bodies)
  watchShared('large_requests', largeCalls)
  watchShared('panel_calls', panelTurns)
  watchShared('downloads', outgoing.waiting)
  watchShared('download_bytes', outgoing.bytes)
  const unauthenticatedBodies = {
    panelLogins: createMemoryBudget(STRANGERS),
    tillLogins: createMemoryBudget(STRANGERS),
    notifications: createMemoryBudget(STRANGERS),
    checkouts: createMemoryBudget(STRANGERS),
  }
  return { bodies, largeCalls, panelTurns, outgoing, unauthenticatedBodies }
}

/** Limit of clients without a key or login, for all answers of a process. */
export const openAddressLimit = (config: Config): AddressLimit => createAddressLimit(limitsOf(config))

function settingsOf(config: Config) {
  return {
    panelLimits: panelLimitsOf(config),
    pages: createPageCache(config.PAGE_CACHE_MIB * MEBIBYTE),
    compress: createCompress(),
    notificationLimit: createAddressLimit({ perMinute: NOTIFICATIONS_PER_MINUTE }),
    signedNotificationLimit: createMinuteLimit({ perMinute: NOTIFICATIONS_PER_MINUTE }),
    checkoutLimit: createAddressLimit({ perMinute: CHECKOUTS_PER_MINUTE }),
    pictureLimit: createAddressLimit({ perMinute: PICTURES_PER_MINUTE }),
    publicUrl: config.PUBLIC_URL,
    newId,
    newSecret: () => webhookSecretOf(randomBytes(SECRET_BYTES)),
    allowPrivateTargets: config.WEBHOOK_ALLOW_PRIVATE,
    retentionYears: config.RETENTION_YEARS,
    storeCommission: config.STORE_COMMISSION_PERCENT,
  }
}

/** Creates the dependencies of the HTTP interfaces. Stopped after the last request was answered. */
export function openInterfaces(dependencies: InterfaceDependencies): Interfaces {
  const { config, core, databaseUrl, provider, connector, metrics, addresses, log } = dependencies
  const mailer = config.SMTP_URL === undefined ? null : createMailer(config.SMTP_URL, config.SMTP_FROM)
  const { tokens, ...panel } = accessOf(dependencies, mailer)
  const limits = limitsOf(config)
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
  metrics.watchShared('request_log', calls)
  return {
    services: {
      ...core,
      ...settingsOf(config),
      ...openShared(metrics),
      addresses,
      limits,
      feed,
      calls,
      onPage: metrics.onPage,
      authenticator: countedAuthenticator(createApiAuthenticator(core.gate, limits), metrics),
      sync: { login: panel.login, tokens, calls: createMinuteLimit({ perMinute: config.SYNC_QUOTA_PER_MINUTE }) },
      live,
      panel: { ...panel, newKey: (isTest) => newKey(randomBytes(KEY_BYTES), modeOf(isTest)) },
      provider,
      connector,
      onNotified: metrics.onNotified,
      log,
    },
    leave: live.close,
    async stop() {
      await calls.stop()
      mailer?.close()
    },
  }
}

const limitsOf = (config: Config): QuotaLimits => ({
  perMinute: config.QUOTA_PER_MINUTE,
  perDay: config.QUOTA_PER_DAY,
  bytesPerDay: config.QUOTA_BYTES_PER_DAY,
})

const panelLimitsOf = (config: Config): PanelLimits => ({
  ofSession: config.PANEL_QUOTA_PER_SESSION,
  ofUser: config.PANEL_QUOTA_PER_USER,
  ofCompany: config.PANEL_QUOTA_PER_COMPANY,
})

/**
 * Creates the demonstration companies if the settings ask for them. Returns the file with their credentials; null if
 * there are none. Runs only after all events of an external event store are applied: existing companies would be
 * created again otherwise.
 */
export async function seed({ core, config, seedDemo, log }: SharedServices): Promise<string | null> {
  if (!config.SEED_DEMO || core.installationCheck.inconsistency()) return null
  const { event_store = 'up' } = await core.health()
  if (event_store !== 'up') {
    log('demo companies are left to the next start', new Error(`the event store is ${event_store}`))
    return null
  }
  const demoFile = join(config.DATA_DIR, 'demo.json')
  return (await seedDemo(core, { baseUrl: config.PUBLIC_URL, demoFile })) ? demoFile : null
}

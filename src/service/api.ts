import { join } from 'node:path'
import { createAccess } from '#access/access.ts'
import type { QuotaLimits } from '#access/api-authenticator.ts'
import { createLimits, type Limits } from '#access/limits.ts'
import { type AddressLimit, createAddressLimit } from '#access/minute-limit.ts'
import type { Config } from '#config/config.ts'
import { createEnvironment } from '#config/environment.ts'
import { createRequestLog } from '#http/request-log/request-log.ts'
import { createTraffic } from '#http/traffic.ts'
import type { LedgerReads } from '#integrity/audit/as-of.ts'
import { createLiveUpdates } from '#live/updates.ts'
import { createMailer } from '#notifications/mailer.ts'
import { NOTIFICATIONS_PER_MINUTE } from '#payment-notifications/receiver.ts'
import { CHECKOUTS_PER_MINUTE } from '#public-pages/checkout/checkout.ts'
import { PICTURES_PER_MINUTE } from '#public-pages/pictures.ts'
import { countedAuthenticator } from '#service/metrics/counted-authenticator.ts'
import type { Metrics } from '#service/metrics/metrics.ts'
import type { Services } from '#services.ts'
import { createEventFeed } from '#webhooks/event-feed.ts'
import type { RunningRole, SharedServices } from './role.ts'

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

/** Limit of clients without a key or login, for all answers of a process. */
export const openAddressLimit = (config: Config): AddressLimit => createAddressLimit(limitsOf(config))

/** Creates what the interfaces are given. Stopped after the last request was answered. */
export function openInterfaces(dependencies: InterfaceDependencies): Interfaces {
  const { config, core, databaseUrl, provider, connector, metrics, addresses, log } = dependencies
  const { pool, vault, writer, requestSecret } = core
  const mailer = config.SMTP_URL === undefined ? null : createMailer(config.SMTP_URL, config.SMTP_FROM)
  const environment = createEnvironment(config)
  const limits = openLimits(config, addresses)
  const access = createAccess({
    ...{ pool, gate: core.gate, writer, vault, mailer, publicUrl: environment.publicUrl, limits, requestSecret, log },
    tillRequestsPerMinute: config.SYNC_QUOTA_PER_MINUTE,
    tokenDays: config.SYNC_TOKEN_DAYS ?? null,
  })
  const live = createLiveUpdates({
    databaseUrl,
    pool,
    onError: (error) => log('open pages do not follow: live updates cannot be heard', error),
  })
  const feed = createEventFeed({ ...core, live })
  metrics.watchShared('event_streams', feed)
  const calls = createRequestLog({ pool, onError: (error) => log('calls could not be logged', error) })
  const { onPage, onNotified, watchShared } = metrics
  const { publicUrl } = environment
  return {
    services: {
      reads: ledgerReadsOf(core),
      writer,
      proofs: { verifier: core.verifier, prover: core.prover, proof: core.proof },
      installation: { check: core.installationCheck, requestSecret, found: core.found },
      access: { ...access, authenticator: countedAuthenticator(access.authenticator, metrics) },
      payments: { pool, vault, writer, provider, connector, publicUrl, onNotified },
      webhooks: { feed, notifier: core.deliveryNotifier },
      live,
      environment,
      limits,
      traffic: createTraffic({ cacheMebibytes: config.PAGE_CACHE_MIB, onPage, calls, watchShared }),
      log,
    },
    leave: live.close,
    async stop() {
      await calls.stop()
      mailer?.close()
    },
  }
}

function ledgerReadsOf(core: LedgerReads): LedgerReads {
  const { pool, poolOf, readsOf, store, model, keys, vault, asOf, paymentLinks } = core
  return { pool, poolOf, readsOf, store, model, keys, vault, asOf, paymentLinks }
}

const openLimits = (config: Config, addresses: AddressLimit): Limits =>
  createLimits({
    quota: limitsOf(config),
    panel: {
      ofSession: config.PANEL_QUOTA_PER_SESSION,
      ofUser: config.PANEL_QUOTA_PER_USER,
      ofCompany: config.PANEL_QUOTA_PER_COMPANY,
    },
    addresses,
    checkouts: CHECKOUTS_PER_MINUTE,
    pictures: PICTURES_PER_MINUTE,
    notifications: NOTIFICATIONS_PER_MINUTE,
  })

const limitsOf = (config: Config): QuotaLimits => ({
  perMinute: config.QUOTA_PER_MINUTE,
  perDay: config.QUOTA_PER_DAY,
  bytesPerDay: config.QUOTA_BYTES_PER_DAY,
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

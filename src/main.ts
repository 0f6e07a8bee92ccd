import { randomBytes } from 'node:crypto'
import type { Server } from 'node:http'
import { join } from 'node:path'
import type { Express } from 'express'
import gracefulShutdown from 'http-graceful-shutdown'
import type { Pool } from 'pg'
import { pino } from 'pino'
import { v7 as uuidv7 } from 'uuid'
import { switchOffWebhook } from '../commands/webhooks/switch-webhook.ts'
import { createAddressLimit } from './access/address-limit.ts'
import { runAsSystem } from './access/as-system.ts'
import { seedDemo } from './access/demo-data.ts'
import { createGate } from './access/quota.ts'
import { createSyncAccess } from './access/sync-access.ts'
import { purgeTokens } from './access/tokens.ts'
import { sealOnSchedule } from './audit/seal-schedule.ts'
import { type Config, readConfig, WrongSetting } from './config.ts'
import { type Core, openCore } from './core.ts'
import { createApp } from './http/app.ts'
import { NOTIFICATIONS_PER_MINUTE } from './http/notifications/receiver.ts'
import { serverOf } from './http/server.ts'
import { purgeAnswers, schedulePurge } from './ledger/purge.ts'
import { createMailer } from './mail/mailer.ts'
import { startNotices } from './mail/notices.ts'
import { purgeNotifications } from './payments/notification-log.ts'
import { createProviderClient } from './payments/provider-client.ts'
import type { PaymentProvider } from './payments/provider-port.ts'
import { startSweep } from './payments/sweep.ts'
import { purgeSweeps } from './payments/sweep-claims.ts'
import { startEmbedded } from './postgres/embedded.ts'
import { createPool } from './postgres/pool.ts'
import { purgeDeliveries } from './webhooks/purge.ts'
import { SECRET_BYTES, secretOf } from './webhooks/secrets.ts'
import { startWebhooks } from './webhooks/start.ts'
import { welcome } from './welcome.ts'

/** Connections for queries; the writer and the gate have their own. */
const QUERY_CONNECTIONS = 8
const GATE_CONNECTIONS = 1
/** A request's headers, and all of it, must have arrived within these. */
const HEADERS_TIMEOUT_MS = 15_000
const REQUEST_TIMEOUT_MS = 60_000
/** Longest wait for requests under way when the service is told to stop. */
const STOP_TIMEOUT_MS = 30_000

const config = settings()
const logger = pino({ level: config.LOG_LEVEL, redact: ['*.password', '*.authorization', '*.key'] })
const log = (message: string, error: unknown, request_id?: string) => logger.error({ err: error, request_id }, message)

/** What has been opened so far, to be closed in the opposite order. */
const closing: (() => Promise<unknown>)[] = []

await start(config).catch(async (error: unknown) => {
  log('the service could not start', error)
  await closeAll()
  process.exitCode = 1
})

async function closeAll(): Promise<void> {
  for (const close of closing.splice(0).reverse()) {
    await close().catch((error: unknown) => log('something could not be closed', error))
  }
}

/** A wrong setting is the operator's to read, not a stack trace. */
function settings(): Config {
  try {
    return readConfig(process.env)
  } catch (error) {
    if (!(error instanceof WrongSetting)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(2)
  }
}

/** Composition root: database, ledger, demo data, HTTP; and their orderly end. */
async function start(config: Config): Promise<void> {
  const databaseUrl = config.DATABASE_URL ?? (await embedded(config))
  let stopping = false
  let failed = false
  const fail = () => {
    failed = true
    if (!stopping) process.kill(process.pid, 'SIGTERM')
  }
  // Outdated: newer projections were installed by another process; this one must not write and cannot serve.
  const core = await openCore({
    databaseUrl,
    eventStoreUrl: config.EVENTSTORE_URL,
    queryConnections: QUERY_CONNECTIONS,
    log,
    onOutdated: fail,
  })
  closing.push(() => core.close())
  const follower = core.follow()
  if (follower) closing.push(() => follower.stop())
  const gatePool = createPool(databaseUrl, {
    max: GATE_CONNECTIONS,
    keyLookupsOnly: true,
    application_name: 'tillbook gate',
  })
  closing.push(() => gatePool.end())
  const demo = config.SEED_DEMO ? await seed(core, config) : null
  const purge = schedulePurge(
    [purgeAnswers, purgeTokens, purgeDeliveries, purgeNotifications, purgeSweeps].map(
      (purge) => () => purge(core.pool),
    ),
    (error) => log('what is no longer needed could not be purged', error),
  )
  closing.push(async () => purge.stop())
  const webhooks = deliver(core, databaseUrl, config)
  closing.push(() => webhooks.stop())
  const notices = tell(core, config)
  closing.push(() => notices.stop())
  const sealing = sealOnSchedule(core, config, {
    onSealed: ({ company_id, revision, hash }) => logger.info({ company_id, revision, hash }, 'a ledger was sealed'),
    onError: (error) => log('a ledger could not be sealed', error),
  })
  closing.push(() => sealing.stop())
  const provider = createProviderClient({ baseUrl: config.PAYMENT_PROVIDER_URL })
  closing.push(() => provider.close())
  const sweep = startSweep({ ...core, provider, schedule: config.PAYMENT_SWEEP_SECONDS, log })
  closing.push(() => sweep.stop())
  const server = listen(
    config,
    appOf(core, gatePool, provider, () => stopping),
    (error) => {
      if (!error) return welcome({ baseUrl: config.PUBLIC_URL, demo })
      log(`cannot listen on port ${config.PORT}`, error)
      fail()
    },
  )
  gracefulShutdown(server, {
    timeout: STOP_TIMEOUT_MS,
    preShutdown: async () => {
      stopping = true
    },
    onShutdown: closeAll,
    finally: () => {
      logger.info('stopped')
      if (failed) process.exit(1)
    },
  })
}

async function embedded({ DATA_DIR }: Config): Promise<string> {
  const postgres = await startEmbedded({ dataDir: DATA_DIR, log: (line) => logger.info(line) })
  closing.push(() => postgres.stop())
  return postgres.url
}

function appOf(core: Core, gatePool: Pool, provider: PaymentProvider, isStopping: () => boolean): Express {
  const limits = { perMinute: config.QUOTA_PER_MINUTE, perDay: config.QUOTA_PER_DAY }
  return createApp({
    ...core,
    limits,
    gate: createGate(gatePool, limits),
    addresses: createAddressLimit(limits),
    sync: createSyncAccess(core.pool, {
      tokenDays: config.SYNC_TOKEN_DAYS ?? null,
      callsPerMinute: config.SYNC_QUOTA_PER_MINUTE,
    }),
    provider,
    notifiers: createAddressLimit({ perMinute: NOTIFICATIONS_PER_MINUTE }),
    publicUrl: config.PUBLIC_URL,
    trustProxy: config.TRUST_PROXY,
    newId: uuidv7,
    given: {
      newSecret: () => secretOf(randomBytes(SECRET_BYTES)),
      allowPrivateTargets: config.WEBHOOK_ALLOW_PRIVATE,
    },
    isStopping,
    log,
  })
}

/** Delivers webhooks, beside everything else that this process does. */
function deliver(core: Core, databaseUrl: string, config: Config): { stop(): Promise<void> } {
  return startWebhooks({
    databaseUrl,
    switchOff: (companyId, id, reason) => runAsSystem(core.writer, companyId, switchOffWebhook, { id, reason }),
    retrySeconds: config.WEBHOOK_RETRY_SECONDS,
    switchOffHours: config.WEBHOOK_SWITCH_OFF_HOURS,
    allowPrivate: config.WEBHOOK_ALLOW_PRIVATE,
    clock: Date.now,
    random: Math.random,
    log,
  })
}

/** E-mails notices, where there is a mail server. */
function tell(core: Core, { SMTP_URL, SMTP_FROM }: Config): { stop(): Promise<void> } {
  return startNotices({
    pool: core.pool,
    mailer: SMTP_URL === undefined ? null : createMailer(SMTP_URL, SMTP_FROM),
    log,
    warn: (message, details) => logger.warn(details, message),
  })
}

function listen({ PORT, HOST }: Config, app: Express, onListening: (error?: Error) => void): Server {
  const server = serverOf(app)
  server.once('error', onListening)
  server.listen(PORT, HOST, () => onListening())
  // Slow or silent connections are ended, so that they cannot pile up.
  server.headersTimeout = HEADERS_TIMEOUT_MS
  server.requestTimeout = REQUEST_TIMEOUT_MS
  return server
}

async function seed(core: Core, config: Config): Promise<string | null> {
  const demoFile = join(config.DATA_DIR, 'demo.json')
  return (await seedDemo(core, { baseUrl: config.PUBLIC_URL, demoFile })) ? demoFile : null
}

import { join } from 'node:path'
import gracefulShutdown from 'http-graceful-shutdown'
import { pino } from 'pino'
import { v7 as uuidv7 } from 'uuid'
import { createAddressLimit } from './access/address-limit.ts'
import { seedDemo } from './access/demo-data.ts'
import { createGate } from './access/quota.ts'
import { type Config, readConfig, WrongSetting } from './config.ts'
import { type Core, openCore } from './core.ts'
import { createApp } from './http/app.ts'
import { schedulePurge } from './ledger/purge.ts'
import { startEmbedded } from './postgres/embedded.ts'
import { createPool } from './postgres/pool.ts'
import { welcome } from './welcome.ts'

/** Connections for queries; the writer and the gate have their own. */
const QUERY_CONNECTIONS = 8
const GATE_CONNECTIONS = 1
/** Longest wait for requests under way when the service is told to stop. */
const STOP_TIMEOUT_MS = 30_000

const config = settings()
const logger = pino({ level: config.LOG_LEVEL, redact: ['*.password', '*.authorization', '*.key'] })
const log = (message: string, error: unknown, request_id?: string) => logger.error({ err: error, request_id }, message)

await start(config).catch((error: unknown) => {
  log('the service could not start', error)
  process.exitCode = 1
})

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
  const embedded = config.DATABASE_URL
    ? null
    : await startEmbedded({ dataDir: config.DATA_DIR, log: (line) => logger.info(line) })
  const databaseUrl = config.DATABASE_URL ?? (embedded as { url: string }).url
  let stopping = false
  let failed = false
  const core = await openCore({
    databaseUrl,
    queryConnections: QUERY_CONNECTIONS,
    log,
    onOutdated: () => {
      // Newer projections were installed by another process; this one must not write and cannot serve.
      failed = true
      if (!stopping) process.kill(process.pid, 'SIGTERM')
    },
  }).catch(async (error: unknown) => {
    await embedded?.stop()
    throw error
  })
  const gatePool = createPool(databaseUrl, {
    max: GATE_CONNECTIONS,
    keyLookupsOnly: true,
    application_name: 'tillbook gate',
  })
  const limits = { perMinute: config.QUOTA_PER_MINUTE, perDay: config.QUOTA_PER_DAY }
  const app = createApp({
    ...core,
    limits,
    gate: createGate(gatePool, limits),
    addresses: createAddressLimit(limits),
    trustProxy: config.TRUST_PROXY,
    newRequestId: uuidv7,
    isStopping: () => stopping,
    log,
  })
  const demo = config.SEED_DEMO ? await seed(core, config) : null
  const purge = schedulePurge(core.pool, (error) => log('old answers could not be purged', error))
  const server = app.listen(config.PORT, config.HOST, (error) => {
    if (!error) return welcome({ baseUrl: config.PUBLIC_URL, demo })
    log(`cannot listen on port ${config.PORT}`, error)
    failed = true
    process.kill(process.pid, 'SIGTERM')
  })
  server.headersTimeout = 15_000
  server.requestTimeout = 60_000
  gracefulShutdown(server, {
    timeout: STOP_TIMEOUT_MS,
    preShutdown: async () => {
      stopping = true
    },
    onShutdown: async () => {
      purge.stop()
      await core.close()
      await gatePool.end()
      await embedded?.stop()
    },
    finally: () => {
      logger.info('stopped')
      if (failed) process.exit(1)
    },
  })
}

async function seed(core: Core, config: Config): Promise<string> {
  const demoFile = join(config.DATA_DIR, 'demo.json')
  await seedDemo(core, { baseUrl: config.PUBLIC_URL, demoFile })
  return demoFile
}

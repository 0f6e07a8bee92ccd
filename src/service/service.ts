import type { Router } from 'express'
import type { Logger } from 'pino'
import { v7 as uuidv7 } from 'uuid'
import { countClearLedgers } from '#audit/reseal.ts'
import type { Config } from '#config/config.ts'
import { type Listening, listen } from '#http/server.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { countedWriter } from '#metrics/counted-writer.ts'
import { createMetrics, type Metrics } from '#metrics/metrics.ts'
import { createProviderClient } from '#payments/provider-client.ts'
import { startEmbedded } from '#postgres/embedded.ts'
import { assertFit } from '#postgres/requirements.ts'
import { openInterfaces, seed } from './api.ts'
import { createApp, interfaceRouter } from './app.ts'
import { type Core, coreSettings, openCore } from './core.ts'
import { startDispatcher } from './dispatcher.ts'
import { forgetWhoCameBack, forgottenListOf } from './forgotten.ts'
import { healthOf } from './health.ts'
import { asCopy, watchInstallation } from './installation.ts'
import { type Log, sparing } from './log.ts'
import { startProjector } from './projector.ts'
import type { Running, SeedDemo, Shared } from './role.ts'
import { countStandbys, standbySettings } from './standbys.ts'
import { createSuccession } from './succession.ts'

/** Connections for queries; the writer and the gate have their own. */
const QUERY_CONNECTIONS = 8

/** The roles of one process, from their start to their orderly end. */
export interface Service {
  /** Resolves when every role is at work. Rejects when one cannot start; `stop` then closes what was opened. */
  start(): Promise<void>
  /** Ends what is under way and closes everything, also in the middle of a start. */
  stop(): Promise<void>
}

const KEY_MADE = 'a master key was made: keep a copy of it apart from the database'

const TOO_MIGHTY =
  'the role of DATABASE_URL could change the past: give the service one of its own (docs/operations.md, "Two roles of Postgres")'

const warningsOf = (logger: Logger) => ({
  onKeyMade: (source: string) => logger.warn({ source }, KEY_MADE),
  onExcess: (privileges: readonly string[]) => logger.warn({ privileges }, TOO_MIGHTY),
})

const logOf = (logger: Logger): Log =>
  sparing(
    (message, error, request_id) => logger.error({ err: error, request_id }, message),
    () => performance.now(),
  )

interface Opening extends Pick<ServiceOptions, 'config' | 'logger' | 'onFailure'> {
  readonly log: Log
  readonly closing: (() => Promise<void>)[]
}

interface Addresses {
  readonly databaseUrl: string
  readonly ownerUrl: string | undefined
}

/** Where the Postgres is that the settings name, or the embedded one, which has all that the service needs. */
async function openPostgres({ config, logger, log, closing, onFailure }: Opening): Promise<Addresses> {
  let [databaseUrl, ownerUrl] = [config.DATABASE_URL, config.DATABASE_OWNER_URL]
  if (databaseUrl === undefined) {
    const told = { log: (line: string) => logger.info(line), onTrouble: log, onGivenUp: onFailure }
    const embedded = await startEmbedded({ dataDir: config.DATA_DIR, ...told })
    closing.push(embedded.stop)
    ;({ url: databaseUrl, ownerUrl } = embedded)
  }
  await assertFit(databaseUrl, { undurable: config.ALLOW_UNDURABLE_POSTGRES, newId: uuidv7 })
  return { databaseUrl, ownerUrl }
}

export interface ServiceOptions {
  readonly config: Config
  readonly logger: Logger
  readonly seedDemo: SeedDemo
  /** Hears that the process cannot go on and should stop. */
  readonly onFailure: () => void
}

export function createService({ config, logger, seedDemo, onFailure }: ServiceOptions): Service {
  const log = logOf(logger)
  const metrics = createMetrics()
  const isApi = config.ROLES.includes('api')
  let isOpen = false
  let stopping = false
  let listening: Listening | null = null
  /** Roles that nobody calls: they stop while the last calls are answered. */
  const background: Running[] = []
  /** What has been opened so far, to be closed in the opposite order. */
  const closing: (() => Promise<void>)[] = []
  const forgotten = forgottenListOf(config, log)
  const succession = createSuccession({ isApi, log, onEnd: onFailure })

  const app = createApp({ ...appSettings(config, metrics), isStopping: () => stopping, isOver: succession.isOver, log })

  async function open(): Promise<Shared> {
    const addresses = await openPostgres({ config, logger, log, closing, onFailure })
    const opened = await openCore({
      ...addresses,
      ...coreSettings(config),
      ...warningsOf(logger),
      ...countedBy(config, metrics),
      queryConnections: QUERY_CONNECTIONS,
      log,
      onOutdated: succession.onReplaced,
      onForgotten: forgotten.note,
    })
    closing.push(opened.close)
    const forgottenList = forgotten.open(opened.pool)
    closing.push(forgottenList.idle)
    const counted = (writer: Writer) => countedWriter(succession.held(writer), metrics)
    const core = { ...opened, writer: counted(opened.writer), writerAfterRestore: counted(opened.writerAfterRestore) }
    background.push(succession.watch(core))
    watchCore(metrics, core)
    const provider = createProviderClient({ baseUrl: config.PAYMENT_PROVIDER_URL })
    closing.push(provider.close)
    const outward = core.standing.isCopy() ? asCopy({ config }) : { config, provider }
    return { ...outward, databaseUrl: addresses.databaseUrl, core, forgottenList, metrics, seedDemo, logger, log }
  }

  function serve(shared: Shared): Router {
    const { options, leave, stop } = openInterfaces(shared, uuidv7)
    closing.push(stop)
    background.push({ stop: leave })
    return interfaceRouter(options)
  }

  const quietly = quietlyTo(log)

  return {
    async start() {
      listening = await listen(app.server, { port: config.PORT, host: config.HOST })
      const shared = await open()
      await forgetWhoCameBack(shared, background)
      const begin = () => !stopping && background.push(...rolesOf(shared))
      background.push(watchInstallation({ ...shared, begin, onEnd: onFailure }))
      const demoFile = isApi ? await seed(shared) : null
      if (isApi) succession.succeed(shared.core)
      app.open(healthOf(config.ROLES, shared.core, shared.core.standing.trouble), isApi ? serve(shared) : undefined)
      isOpen = true
      logger.info({ roles: config.ROLES }, 'at work')
      const ledgers = await countClearLedgers(shared.core.pool)
      if (ledgers > 0) logger.warn({ ledgers }, 'ledgers hold data about people in clear: reseal them')
      if (isApi) welcome(config.PUBLIC_URL, demoFile)
    },
    async stop() {
      stopping = true
      const delay_ms = isApi && isOpen ? config.STOP_DELAY_SECONDS * 1000 : 0
      const drained = quietly(async () => listening?.drain(delay_ms))
      await Promise.all([drained, ...background.map((role) => quietly(role.stop))])
      for (const close of closing.splice(0).reverse()) await quietly(close)
    },
  }
}

/** What writes, asks, delivers and seals without being called; a copy speaks to nobody. */
function rolesOf(shared: Shared): Running[] {
  const { config, core } = shared
  return [
    ...(config.ROLES.includes('projector') ? [startProjector(shared)] : []),
    ...(config.ROLES.includes('dispatcher') && !core.standing.isCopy() ? [startDispatcher(shared)] : []),
  ]
}

const quietlyTo = (log: Log) => (stop: () => Promise<void>) =>
  stop().catch((error: unknown) => log('something could not be stopped', error))

const countedBy = (config: Config, metrics: Metrics) => ({
  onGroup: metrics.onGroup,
  ...standbySettings(config, metrics),
})

const appSettings = ({ TRUST_PROXY, METRICS_TOKEN }: Config, metrics: Metrics) => ({
  trustProxy: TRUST_PROXY,
  newId: uuidv7,
  onAnswered: metrics.onAnswered,
  figures: { metrics, token: METRICS_TOKEN ?? null },
})

function watchCore(metrics: Metrics, { pools, shared, standbys }: Pick<Core, 'pools' | 'shared' | 'standbys'>): void {
  for (const [name, pool] of Object.entries(pools)) metrics.watchPool(name, pool)
  for (const [name, figures] of Object.entries(shared)) metrics.watchShared(name, figures)
  countStandbys(metrics, standbys)
}

/** Printed once the service answers: what is there, and the first things to try. */
function welcome(baseUrl: string, demoFile: string | null): void {
  const lines = ['', `  Tillbook answers on ${baseUrl}`, '']
  if (demoFile !== null) {
    lines.push(
      `  Demo companies, their API keys and users: ${demoFile}`,
      `  The panel, for their users: ${baseUrl}/painel`,
      '',
      '  Try, in another terminal:',
      `    KEY=$(node -p "JSON.parse(require('fs').readFileSync('${demoFile}')).companies[0].api_key")`,
      `    curl -s -H "Authorization: Bearer $KEY" ${baseUrl}/api/v1/me`,
      `    curl -s -H "Authorization: Bearer $KEY" '${baseUrl}/api/v1/catalog/items?limit=3'`,
      '    npm run -s demo          # the main job, step by step: a sale, its replay, an order paid on its page, the ledger',
      '',
    )
  }
  process.stdout.write(`${lines.join('\n')}\n`)
}

import type { Router } from 'express'
import type { AddressLimit } from '#access/minute-limit.ts'
import type { Addresses, Config } from '#config/config.ts'
import { createProviderConnector, type ProviderConnector } from '#payments/provider-connector.ts'
import type { PaymentProvider } from '#payments/provider-port.ts'
import { countRefusedConnections } from '#queries/stores.ts'
import { countedWriter } from '#service/metrics/counted-writer.ts'
import type { Metrics } from '#service/metrics/metrics.ts'
import { openInterfaces } from './api.ts'
import { interfaceRouter } from './app.ts'
import { type Core, openCore } from './core.ts'
import { coreSettings } from './core-settings.ts'
import { startDispatcher } from './dispatcher.ts'
import { type CheckHealth, createHealthCheck } from './health.ts'
import { asCopy, watchInstallation } from './installation.ts'
import type { Log } from './log.ts'
import { startProjector } from './projector.ts'
import { measureReplicas, replicaSettings } from './read-replicas.ts'
import { eraseRestoredOnStart, openErasureList } from './restored-persons.ts'
import type { RunningRole, SharedServices } from './role.ts'
import { createRollingUpgrade } from './rolling-upgrade.ts'

/** Connections for queries; the writer and API key authentication have their own. */
const QUERY_CONNECTIONS = 8

const KEY_MADE = 'a master key was made: keep a copy of it apart from the database'

const TOO_MIGHTY =
  'the role of DATABASE_URL could change the past: give the service one of its own (docs/operations/install.md, "Two roles of Postgres")'

export interface ProcessOptions extends Pick<SharedServices, 'config' | 'logger' | 'log' | 'metrics' | 'seedDemo'> {
  /** That of `openAddressLimit`. */
  readonly addresses: AddressLimit
  /** Called when the process cannot continue and should stop. */
  readonly onFailure: () => void
}

/** Core, roles and interfaces of a process, from start to orderly shutdown. */
interface ServiceProcess {
  /** Opens the core, repeats erasures that a restored backup has undone, then starts the background roles. */
  open(addresses: Addresses, provider: PaymentProvider): Promise<SharedServices>
  /** Router of the interfaces; the process serves from now on. */
  serve(): Router
  health: CheckHealth
  /** Whether a newer version has replaced this process. */
  isOver(): boolean
  /** Stops background roles, and requests that have no natural end. */
  quiet(): Promise<void>
  /** Called after the last request was answered. */
  close(): Promise<void>
}

/** A process that is not open yet. `quiet` and `close` may be called at any time. */
export function createProcess(options: ProcessOptions): ServiceProcess {
  const { config, metrics, logger, log, seedDemo, onFailure } = options
  const isApi = config.ROLES.includes('api')
  const forgotten = openErasureList(config, log)
  const succession = createRollingUpgrade({ isApi, log, onEnd: onFailure })
  let opened: SharedServices | null = null
  let stopping = false
  /** Background roles. They stop while the last requests are answered. */
  const background: RunningRole[] = []
  /** Opened resources, closed in reverse order. */
  const closing: (() => Promise<void>)[] = []
  const quietly = quietlyTo(log)
  const shared = (): SharedServices => {
    if (!opened) throw new Error('the process is not open')
    return opened
  }

  return {
    async open(addresses, provider) {
      const bare = await openCore({
        ...addresses,
        ...coreSettings(config),
        onKeyMade: (source) => logger.warn({ source }, KEY_MADE),
        onExcess: (privileges) => logger.warn({ privileges }, TOO_MIGHTY),
        queryConnections: QUERY_CONNECTIONS,
        log,
        onOutdated: succession.onReplaced,
        onForgotten: forgotten.note,
        onGroup: metrics.onGroup,
        admission: [succession.untilWritable],
        ...replicaSettings(config, metrics),
      })
      closing.push(bare.close)
      const forgottenList = forgotten.open(bare.pool)
      closing.push(forgottenList.idle)
      const core = withCountedWriters(bare, metrics)
      background.push(succession.watch(core))
      watchCore(metrics, core)
      const outward = outwardOf(core, { config, provider }, closing)
      const { databaseUrl } = addresses
      opened = { ...outward, databaseUrl, core, forgottenList, metrics, seedDemo, logger, log }
      await warnOfMissingKeys(opened)
      await eraseRestoredOnStart(opened, background)
      const start = () => !stopping && background.push(...rolesOf(shared()))
      background.push(watchInstallation({ ...opened, begin: start, onEnd: onFailure }))
      return opened
    },
    serve() {
      const interfaces = openInterfaces({ ...shared(), addresses: options.addresses })
      closing.push(interfaces.stop)
      background.push({ stop: interfaces.leave })
      succession.succeed(shared().core)
      return interfaceRouter(interfaces.services)
    },
    health: () => healthOf(shared())(),
    isOver: succession.isOver,
    async quiet() {
      stopping = true
      await Promise.all(background.map((role) => quietly(role.stop)))
    },
    async close() {
      for (const close of closing.splice(0).reverse()) await quietly(close)
    },
  }
}

function healthOf({ config, core }: SharedServices): CheckHealth {
  const refused = () => countRefusedConnections(core.pool)
  return createHealthCheck(config.ROLES, core, core.installationCheck.inconsistency, refused)
}

/** Services that call others; those of a copy call none. */
function outwardOf(
  { installationCheck }: Core,
  services: Pick<SharedServices, 'config' | 'provider'>,
  closing: (() => Promise<void>)[],
): Pick<SharedServices, 'config' | 'provider' | 'connector'> {
  if (installationCheck.isCopy()) return asCopy(services)
  return { ...services, connector: openConnector(services.config, closing) }
}

/** Null without credentials of the service at the provider. */
function openConnector(config: Config, closing: (() => Promise<void>)[]): ProviderConnector | null {
  const { PAYMENT_CLIENT_ID: clientId, PAYMENT_CLIENT_SECRET: clientSecret, PAYMENT_PROVIDER_URL: baseUrl } = config
  if (clientId === undefined || clientSecret === undefined) return null
  const connector = createProviderConnector({ baseUrl, clientId, clientSecret, clock: Date.now })
  closing.push(connector.close)
  return connector
}

const withCountedWriters = (core: Core, metrics: Metrics): Core => ({
  ...core,
  writer: countedWriter(core.writer, metrics),
  writerAfterRestore: countedWriter(core.writerAfterRestore, metrics),
})

/** Background roles of the process. A copy sends nothing. */
function rolesOf(shared: SharedServices): RunningRole[] {
  const { config, core } = shared
  return [
    ...(config.ROLES.includes('projector') ? [startProjector(shared)] : []),
    ...(config.ROLES.includes('dispatcher') && !core.installationCheck.isCopy() ? [startDispatcher(shared)] : []),
  ]
}

export const quietlyTo = (log: Log) => (stop: () => Promise<void>) =>
  stop().catch((error: unknown) => log('a part of the service did not stop', error))

function watchCore(metrics: Metrics, { pools, shared, replicas }: Pick<Core, 'pools' | 'shared' | 'replicas'>): void {
  for (const [name, pool] of Object.entries(pools)) metrics.watchPool(name, pool)
  for (const [name, figures] of Object.entries(shared)) metrics.watchShared(name, figures)
  measureReplicas(metrics, replicas)
}

/** Logged at each start, because an operator must fix it. */
async function warnOfMissingKeys({ core, logger }: Pick<SharedServices, 'core' | 'logger'>): Promise<void> {
  const companies = await core.missingKeys()
  if (companies.length > 0) logger.warn({ companies }, 'companies are read-only: keys of persons are missing')
}

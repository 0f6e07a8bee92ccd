import type { Router } from 'express'
import type { Addresses, Config } from '#config/config.ts'
import type { MasterKeys } from '#crypto/master-keys.ts'
import type { Writer } from '#ledger/write/writer.ts'
import type { PaymentProvider } from '#payments/provider-port.ts'
import { countedWriter } from '#service/metrics/counted-writer.ts'
import type { ShardMetrics } from '#service/metrics/metrics.ts'
import type { DirectoryHooks } from '#sharding/directory-hooks.ts'
import { type CommonServices, type InterfaceAccess, openInterfaces } from './api.ts'
import { interfaceRouter } from './app.ts'
import { type Core, coreSettings, openCore } from './core.ts'
import { startDispatcher } from './dispatcher.ts'
import { type CheckHealth, createHealthCheck } from './health.ts'
import { asCopy, watchInstallation } from './installation.ts'
import type { Log } from './log.ts'
import { startProjector } from './projector.ts'
import { measureReplicas, replicaSettings } from './read-replicas.ts'
import { eraseRestoredOnStart, openErasureList } from './restored-persons.ts'
import type { RunningRole, SeedDemo, SharedServices } from './role.ts'
import { createRollingUpgrade } from './rolling-upgrade.ts'

/** Connections for queries; the writer and the gate have their own. */
const QUERY_CONNECTIONS = 8

const KEY_MADE = 'a master key was made: keep a copy of it apart from the database'

const TOO_MIGHTY =
  'the role of DATABASE_URL could change the past: give the service one of its own (docs/operations.md, "Two roles of Postgres")'

export interface ShardOptions extends Pick<SharedServices, 'config' | 'logger' | 'log'> {
  readonly metrics: ShardMetrics
  readonly seedDemo: SeedDemo
  /** All homes have the same. */
  readonly masterKeys: (config: Config) => MasterKeys
  /** How its core tells the directory of what is new, where there are several homes. */
  readonly directory?: () => DirectoryHooks
  /** Hears that the process cannot go on and should stop. */
  readonly onFailure: () => void
}

/** The companies of one Postgres as a process serves them: core, roles and interfaces, from their start to their orderly end. */
export interface ShardProcess {
  /** Opens what everything else is built upon. */
  open(addresses: Addresses, provider: PaymentProvider): Promise<SharedServices>
  /** Forgets whom a backup has brought back, then has the roles begin that nobody calls. */
  begin(): Promise<void>
  /** Its interfaces. */
  serve(common: CommonServices, access?: InterfaceAccess): Router
  /** Its process serves from now on. */
  succeed(): void
  /** @throws before it is open */
  core(): Core
  health: CheckHealth
  /** Whether a newer version serves in the place of this process. */
  isOver(): boolean
  /** Ends what nobody calls, and what would never be answered to its end. */
  quiet(): Promise<void>
  /** After the last call was answered. */
  close(): Promise<void>
}

/** A home that is not open yet; `quiet` and `close` are right at any moment. */
export function createShard(options: ShardOptions): ShardProcess {
  const { config, metrics, logger, log, seedDemo, onFailure } = options
  const isApi = config.ROLES.includes('api')
  const forgotten = openErasureList(config, log)
  const succession = createRollingUpgrade({ isApi, log, onEnd: onFailure })
  let opened: SharedServices | null = null
  let stopping = false
  /** Roles that nobody calls: they stop while the last calls are answered. */
  const background: RunningRole[] = []
  /** What has been opened so far, to be closed in the opposite order. */
  const closing: (() => Promise<void>)[] = []
  const quietly = quietlyTo(log)
  const shared = (): SharedServices => {
    if (!opened) throw new Error('the home is not open')
    return opened
  }

  return {
    async open(addresses, provider) {
      const hooks = options.directory?.()
      const bare = await openCore({
        ...addresses,
        ...coreSettings(config),
        masterKeys: options.masterKeys(config),
        ...hooks,
        onKeyMade: (source) => logger.warn({ source }, KEY_MADE),
        onExcess: (privileges) => logger.warn({ privileges }, TOO_MIGHTY),
        queryConnections: QUERY_CONNECTIONS,
        log,
        onOutdated: succession.onReplaced,
        onForgotten(former) {
          forgotten.note()
          hooks?.onForgotten(former)
        },
        onGroup: metrics.onGroup,
        ...replicaSettings(config, metrics),
      })
      closing.push(bare.close)
      const forgottenList = forgotten.open(bare.pool)
      closing.push(forgottenList.idle)
      const counted = (writer: Writer) => countedWriter(succession.held(writer), metrics)
      const core = { ...bare, writer: counted(bare.writer), writerAfterRestore: counted(bare.writerAfterRestore) }
      background.push(succession.watch(core))
      watchCore(metrics, core)
      const outward = core.standing.isCopy() ? asCopy({ config }) : { config, provider }
      const { databaseUrl } = addresses
      opened = { ...outward, databaseUrl, core, forgottenList, metrics, seedDemo, logger, log }
      return opened
    },
    async begin() {
      await warnOfMissingKeys(shared())
      await eraseRestoredOnStart(shared(), background)
      const start = () => !stopping && background.push(...rolesOf(shared()))
      background.push(watchInstallation({ ...shared(), begin: start, onEnd: onFailure }))
    },
    serve(common, access) {
      const interfaces = openInterfaces({ ...shared(), common, ...(access && { access }) })
      closing.push(interfaces.stop)
      background.push({ stop: interfaces.leave })
      return interfaceRouter(interfaces.options)
    },
    succeed: () => succession.succeed(shared().core),
    core: () => shared().core,
    health: () => createHealthCheck(config.ROLES, shared().core, shared().core.standing.trouble)(),
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

/** What writes, asks, delivers and seals without being called; a copy speaks to nobody. */
function rolesOf(shared: SharedServices): RunningRole[] {
  const { config, core } = shared
  return [
    ...(config.ROLES.includes('projector') ? [startProjector(shared)] : []),
    ...(config.ROLES.includes('dispatcher') && !core.standing.isCopy() ? [startDispatcher(shared)] : []),
  ]
}

export const quietlyTo = (log: Log) => (stop: () => Promise<void>) =>
  stop().catch((error: unknown) => log('something could not be stopped', error))

function watchCore(
  metrics: ShardMetrics,
  { pools, shared, standbys }: Pick<Core, 'pools' | 'shared' | 'standbys'>,
): void {
  for (const [name, pool] of Object.entries(pools)) metrics.watchPool(name, pool)
  for (const [name, figures] of Object.entries(shared)) metrics.watchShared(name, figures)
  measureReplicas(metrics, standbys)
}

/** Told at each start: it takes an operator to mend. */
async function warnOfMissingKeys({ core, logger }: Pick<SharedServices, 'core' | 'logger'>): Promise<void> {
  const companies = await core.missingKeys()
  if (companies.length > 0) logger.warn({ companies }, 'companies are read-only: keys of persons are missing')
}

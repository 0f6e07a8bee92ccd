import { setTimeout as delay } from 'node:timers/promises'
import type { Router } from 'express'
import type { AddressLimit } from '#access/login-limits.ts'
import type { Addresses, Config } from '#config/config.ts'
import { type Inconsistency, inconsistencyMessage } from '#integrity/installation-check.ts'
import { announceVersion, watchVersion } from '#ledger/rebuild/version.ts'
import { repeat } from '#lib/background-loops.ts'
import type { LogError } from '#lib/errors.ts'
import { type PaymentProvider, ProviderMisconfigured } from '#payments/provider-port.ts'
import { createProviderConnector, type ProviderConnector } from '#payments/store-connections.ts'
import { countRefusedConnections } from '#queries/company-queries.ts'
import { type Core, coreSettings, openCore } from './core.ts'
import { type CheckHealth, createHealthCheck, interfaceRouter, openInterfaces } from './interfaces.ts'
import { countedWriter, type Metrics } from './metrics.ts'
import {
  eraseRestoredOnStart,
  openErasureList,
  type RunningRole,
  type SharedServices,
  startDispatcher,
  startProjector,
} from './process-roles.ts'
import { measureReplicas, replicaSettings } from './read-replicas.ts'

type Versioned = Pick<Core, 'pool' | 'model'>

/** Handover from processes of one version to those of a newer one. */
export interface RollingUpgrade {
  /** Whether a newer version serves, so that this process must stop serving. */
  isOver(): boolean
  /** The tables were replaced: this process refuses writes from now on. */
  onReplaced(): void
  /** Watches for a newer version until it is stopped. */
  watch(core: Versioned): { stop(): Promise<void> }
  /** Resolves when no process of the previous version may still answer reads; writes wait for it. */
  untilWritable(): Promise<void>
  /** Announces that this process serves. */
  succeed(core: Versioned): void
}

interface SuccessionOptions {
  /** Whether this process answers reads. */
  readonly isApi: boolean
  readonly log: LogError
  /** The process should end. */
  readonly onEnd: () => void
}

/**
 * Without a serving successor within this time there may be nothing that answers reads. The process then ends, and its
 * next start reports the reason.
 */
const SUCCESSOR_WITHIN_MS = 60_000

/**
 * After its tables were replaced, a process refuses writes and continues to answer reads from the old tables, which are
 * still the newest published state. Once a process of the newer version serves, it refuses everything and ends.
 */
function createRollingUpgrade({ isApi, log, onEnd }: SuccessionOptions): RollingUpgrade {
  let isReplaced = false
  let isOver = false
  let writable: Promise<void> = Promise.resolve()
  const end = () => {
    if (isOver) return
    isOver = true
    onEnd()
  }
  const onReplaced = () => {
    if (isReplaced) return
    isReplaced = true
    log('upgrade: newer tables are live, stopping', new Error('older than the tables'))
    if (isApi) setTimeout(end, SUCCESSOR_WITHIN_MS).unref()
    else end()
  }
  return {
    isOver: () => isOver,
    onReplaced,
    watch: ({ pool, model }) =>
      watchVersion(pool, model, {
        onReplaced,
        onServed: end,
        onError: (error) => log('upgrade: reading the table version failed, will retry', error),
      }),
    untilWritable: () => writable,
    succeed({ pool, model }) {
      // If Postgres is unreachable, a process misses the announcement, but cannot read either.
      writable = announceVersion(pool, model)
        .then((wait_ms) => delay<void>(wait_ms))
        .catch((error: unknown) => log('upgrade: announcing the table version failed, will retry', error))
    },
  }
}

/** Interval between checks. A restore may lose what was recorded since the last check without DATA_DIR showing it. */
const LOOK_MS = 15_000
/** Interval while writes are blocked: bounds the delay after an operator has confirmed a restore. */
const TROUBLED_LOOK_MS = 2_000

interface Watching extends Pick<SharedServices, 'core' | 'metrics' | 'logger' | 'log'> {
  /** Starts the background roles. */
  readonly begin: () => unknown
  /** The process cannot continue. */
  readonly onEnd: () => void
}

/**
 * Starts the background roles once database, DATA_DIR and event store belong together, then keeps checking. If
 * a later check finds an inconsistency, the process ends, and its next start reports the reason.
 */
export function watchInstallation({ core, metrics, logger, log, begin, onEnd }: Watching): RunningRole {
  const { installationCheck } = core
  let hasBegun = false
  let told: Inconsistency | null = null
  const tell = (inconsistency: Inconsistency | null) => {
    if (inconsistency && inconsistency !== told)
      logger.error(
        { installation: inconsistency, remedy: inconsistencyMessage(inconsistency) },
        'installation: writes are blocked',
      )
    told = inconsistency
  }
  function act(inconsistency: Inconsistency | null): void {
    tell(inconsistency)
    // Background roles were started under another assumption, so the process must restart.
    const mustEnd = inconsistency ? hasBegun : !hasBegun && wasCopy !== installationCheck.isCopy()
    if (mustEnd) onEnd()
    else if (!inconsistency && !hasBegun) {
      hasBegun = true
      begin()
    }
  }
  const wasCopy = installationCheck.isCopy()
  if (wasCopy) logger.warn('service: running as a copy; webhooks, e-mail and provider polling are off')
  metrics.gauge(
    'tillbook_installation_blocked',
    '1 while nothing is recorded, because database, DATA_DIR and event store do not belong together',
    () => (installationCheck.inconsistency() ? 1 : 0),
  )
  act(installationCheck.inconsistency())
  const looking = repeat(
    async () => {
      const inconsistency = await installationCheck.look()
      act(inconsistency)
      if (!inconsistency) await installationCheck.note()
    },
    () => (installationCheck.inconsistency() ? TROUBLED_LOOK_MS : LOOK_MS),
    (error) => log('installation: check failed, will retry', error),
  )
  return {
    async stop() {
      await looking.stop()
      if (!installationCheck.inconsistency()) await installationCheck.note()
    },
  }
}

/**
 * Disables outgoing traffic of a copy: no e-mail, no attestation requests, no calls to the payment provider.
 */
const asCopy = ({
  config,
}: Pick<SharedServices, 'config'>): Pick<SharedServices, 'config' | 'provider' | 'connector'> => ({
  config: { ...config, SMTP_URL: undefined, ...NO_ATTESTORS },
  provider: NO_PROVIDER,
  connector: null,
})

const NO_ATTESTORS = {
  WITNESS_URLS: undefined,
  SEAL_TSA_URL: undefined,
  SEAL_PUSH_URL: undefined,
  SEAL_PUSH_FOLDER: undefined,
}

const refused = (): Promise<never> => Promise.reject(new ProviderMisconfigured('a copy asks no payment provider'))

const NO_PROVIDER: PaymentProvider = {
  createPayment: refused,
  cancelPayment: refused,
  createRefund: refused,
  getPayment: refused,
  getPaymentMethods: refused,
  getCardOptions: refused,
  findPayments: refused,
}

/** Connections for queries; the writer and API key authentication have their own. */
const QUERY_CONNECTIONS = 8

const KEY_MADE = 'master key: created; keep a copy apart from the database'

const TOO_MIGHTY =
  'postgres: role of DATABASE_URL can change ledgers; give the service its own role (docs/operations/install.md, "Two roles of Postgres")'

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
        tell: (line) => logger.info(line),
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

export const quietlyTo = (log: LogError) => (stop: () => Promise<void>) =>
  stop().catch((error: unknown) => log('service: part failed to stop', error))

function watchCore(metrics: Metrics, { pools, shared, replicas }: Pick<Core, 'pools' | 'shared' | 'replicas'>): void {
  for (const [name, pool] of Object.entries(pools)) metrics.watchPool(name, pool)
  for (const [name, figures] of Object.entries(shared)) metrics.watchShared(name, figures)
  measureReplicas(metrics, replicas)
}

/** Logged at each start, because an operator must fix it. */
async function warnOfMissingKeys({ core, logger }: Pick<SharedServices, 'core' | 'logger'>): Promise<void> {
  const companies = await core.missingKeys()
  if (companies.length > 0) logger.warn({ companies }, 'ledger: companies are read-only, keys of persons are missing')
}

import { constants } from 'node:os'
import { isAbsolute, relative } from 'node:path'
import { type Addresses, type Config, readConfig } from '#config/config.ts'
import { loadMasterKeys } from '#crypto/master-keys.ts'
import { newId } from '#lib/ids.ts'
import type { OpenedReader } from '#service/command-reader.ts'
import type { Core } from '#service/core.ts'
import { createProgress } from './terminal.ts'
import type { Context } from './verb.ts'

/** Commands run one by one on one connection; a list may be read at the same time. */
const CONNECTIONS = 2

/** A context with the resources to close at the end. */
export interface OpenContext extends Context {
  close(): Promise<void>
}

/** Opens the database on demand: not every verb needs one, and a wrong flag must not start a server. */
export function createContext(env: Readonly<Record<string, string | undefined>>, json = false): OpenContext {
  const config = readConfig(env)
  let postgres: Promise<OpenPostgres> | undefined
  let opened: Promise<OpenedCore> | undefined
  let openedReader: Promise<OpenedReader> | undefined
  const addresses = () => (postgres ??= openPostgres(config))
  const core: Context['core'] = async ({ upgrades } = { upgrades: false }) => {
    opened ??= addresses().then((place) => open(config, place, upgrades))
    return (await opened).core
  }
  /** A core follows ledgers outside Postgres, and makes missing tables. */
  async function openOwnReader(): Promise<OpenedReader> {
    const reader = config.EVENTSTORE_URL === undefined && (await openForReading(config, await addresses()))
    if (reader) return reader
    const { readerOfCore } = await import('#service/command-reader.ts')
    return { ...readerOfCore(await core()), close: async () => {} }
  }
  const progress = createProgress({ stream: process.stderr, isShown: !json, clock: () => performance.now() })
  return {
    config,
    json,
    progress,
    core,
    reader: () => (openedReader ??= openOwnReader()),
    addresses,
    async close() {
      progress.end()
      for (const each of [openedReader, opened]) await (await each?.catch(() => undefined))?.close()
      await (await postgres?.catch(() => undefined))?.stop()
    },
  }
}

interface OpenPostgres extends Addresses {
  stop(): Promise<void>
}

/** DATA_DIR has no installation. A command makes none: it would be a second one beside that of the service (OPS-154). */
export class NoInstallation extends Error {
  constructor(dataDir: string) {
    const inside = relative(process.cwd(), dataDir)
    const shown = inside === '' || inside.startsWith('..') || isAbsolute(inside) ? dataDir : `./${inside}`
    super(`no installation in ${shown}; set DATA_DIR or start the service`)
  }
}

/** The database in DATABASE_URL, or the embedded one: that of a running service or, without one, of this command. */
async function openPostgres(config: Config): Promise<OpenPostgres> {
  const { DATABASE_URL, DATABASE_OWNER_URL, DATA_DIR } = config
  if (DATABASE_URL !== undefined) {
    const { assertSupported: assertFit } = await import('#postgres/requirements.ts')
    await assertFit(DATABASE_URL, { undurable: config.ALLOW_UNDURABLE_POSTGRES, newId })
    return { databaseUrl: DATABASE_URL, ownerUrl: DATABASE_OWNER_URL, stop: async () => {} }
  }
  const [{ startEmbedded }, { hasCluster }] = await Promise.all([
    import('#postgres/embedded.ts'),
    import('#postgres/cluster.ts'),
  ])
  if (!hasCluster(DATA_DIR)) throw new NoInstallation(DATA_DIR)
  const starting = startEmbedded({ dataDir: DATA_DIR, kind: 'command' })
  const stop = async () => (await starting).stop()
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => stop().finally(() => process.exit(128 + constants.signals[signal])))
  const { url, ownerUrl } = await starting
  return { databaseUrl: url, ownerUrl, stop }
}

interface OpenedCore {
  readonly core: Core
  close(): Promise<void>
}

/** Options of cores and readers alike. */
const OF_COMMANDS = {
  applicationName: 'tillbook command',
  onKeyMade: (source: string) =>
    console.error(`A master key was made in ${source}: keep a copy of it apart from the database.`),
  // The verb receives the error too and reports it.
  log: () => {},
}

async function openForReading(config: Config, { databaseUrl, ownerUrl }: Addresses): Promise<OpenedReader | null> {
  const { openReader } = await import('#service/command-reader.ts')
  const proofOptions = async () => (await import('#service/core.ts')).coreSettings(config)
  const place = { databaseUrl, ownerUrl, dataDir: config.DATA_DIR, connections: CONNECTIONS }
  return openReader({ ...place, ...OF_COMMANDS, masterKeys: loadMasterKeys(config), proofOptions })
}

async function open(config: Config, { databaseUrl, ownerUrl }: Addresses, upgrades: boolean): Promise<OpenedCore> {
  const [{ coreSettings }, { openCore }, { createErasureList: createForgottenList }] = await Promise.all([
    import('#service/core.ts'),
    import('#service/core.ts'),
    import('#privacy/erasure-list.ts'),
  ])
  let hasForgotten = false
  const core = await openCore({
    ...coreSettings(config),
    ...OF_COMMANDS,
    databaseUrl,
    ownerUrl,
    upgrades,
    queryConnections: CONNECTIONS,
    onOutdated: () => {},
    onForgotten() {
      hasForgotten = true
    },
  })
  return {
    core,
    async close() {
      if (hasForgotten)
        await createForgottenList({ pool: core.pool, dataDir: config.DATA_DIR, onError: () => {} }).sync()
      await core.close()
    },
  }
}

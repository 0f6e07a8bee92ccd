import { constants } from 'node:os'
import { isAbsolute, relative } from 'node:path'
import { type Addresses, addressesOf, type Config, configOf, readConfig } from '#config/config.ts'
import { DEFAULT_SHARD } from '#config/databases.ts'
import { loadMasterKeys } from '#crypto/master-keys.ts'
import { newId } from '#lib/ids.ts'
import type { Core, CoreOptions } from '#service/core.ts'
import type { OpenedReader } from '#service/reader.ts'
import type { Directory } from '#sharding/directory.ts'
import type { DirectoryHooks } from '#sharding/directory-hooks.ts'
import { createShardsView } from '#sharding/shards.ts'
import { createProgress } from './progress.ts'
import type { Context, NamedReader, NamedShard } from './verb.ts'

/** Commands run one by one on one connection; a list may be read at the same time. */
const CONNECTIONS = 2

/** A context with the resources to close at the end. */
export interface OpenContext extends Context {
  close(): Promise<void>
}

/** Opens databases on demand: not every verb needs one, and a wrong flag must not start a server. */
export function createContext(env: Readonly<Record<string, string | undefined>>, json = false): OpenContext {
  const config = readConfig(env)
  const isSharded = (config.SHARDS ?? []).length > 0
  let postgres: Promise<OpenPostgres> | undefined
  let openedDirectory: Promise<Directory> | undefined
  const main = () => (postgres ??= openPostgres(config))
  const directory = () => (openedDirectory ??= main().then(openDirectoryAt))
  const addresses = async (name: string): Promise<Addresses> =>
    name === DEFAULT_SHARD ? main() : additionalShardAddresses(config, name, await directory())
  const { core, reader, close } = openShards(config, { directory, addresses })
  /** Names of all shards, the default one first. */
  const names = async () => {
    const added = isSharded ? await (await directory()).shards() : []
    return [DEFAULT_SHARD, ...added.map(({ name }) => name).filter((name) => name !== DEFAULT_SHARD)]
  }
  const shardOf = async (companyId: number) =>
    (isSharded ? await (await directory()).shardOf(companyId) : null) ?? DEFAULT_SHARD
  const progress = createProgress({ stream: process.stderr, isShown: !json, clock: () => performance.now() })
  return {
    config,
    json,
    progress,
    core,
    reader,
    addresses,
    directory,
    coreOf: async (companyId) => core({ shard: await shardOf(companyId) }),
    readerOf: async (companyId) => reader(await shardOf(companyId)),
    async shards(options) {
      const all: NamedShard[] = []
      for (const name of await names()) all.push({ name, core: await core({ ...options, shard: name }) })
      return all
    },
    async readers() {
      const all: NamedReader[] = []
      for (const name of await names()) all.push({ name, reader: await reader(name) })
      return all
    },
    async close() {
      progress.end()
      await close()
      await (await openedDirectory?.catch(() => undefined))?.close()
      await (await postgres?.catch(() => undefined))?.stop()
    },
  }
}

/** Opens each shard once, and closes all together. */
function openShards(config: Config, { directory, addresses }: Pick<Context, 'directory' | 'addresses'>) {
  const { SHARDS = [] } = config
  const opened = new Map<string, Promise<OpenedCore>>()
  const openedReaders = new Map<string, Promise<OpenedReader>>()
  /** Opened cores, by shard. */
  const cores = new Map<string, Core>()
  const shards = createShardsView([DEFAULT_SHARD, ...SHARDS.map(({ name }) => name)], (name) => cores.get(name))
  const placeOf = async (name: string) => {
    const ofShard = SHARDS.length === 0 ? config : configOf(config, name)
    return { ...(await addresses(name)), config: ofShard, masterKeys: loadMasterKeys(config) }
  }
  async function openCoreOf(name: string, upgrades: boolean): Promise<OpenedCore> {
    if (SHARDS.length === 0) return open({ ...(await placeOf(name)), upgrades })
    const [known, place] = [await directory(), await placeOf(name)]
    const { createDirectoryHooks: hooksOf } = await import('#sharding/directory-hooks.ts')
    return open({ ...place, upgrades, ...hooksOf({ directory: known, shards, log: () => {} }, name, SHARDS) })
  }
  const core: Context['core'] = async ({ upgrades = false, shard = DEFAULT_SHARD } = {}) => {
    const opening = opened.get(shard) ?? openCoreOf(shard, upgrades)
    opened.set(shard, opening)
    const { core } = await opening
    cores.set(shard, core)
    return core
  }
  /** A core follows ledgers outside Postgres, and makes missing tables. */
  async function openReaderOf(shard: string): Promise<OpenedReader> {
    const reader = config.EVENTSTORE_URL === undefined && (await openForReading(await placeOf(shard)))
    if (reader) return reader
    const { readerOfCore } = await import('#service/reader.ts')
    return { ...readerOfCore(await core({ shard })), close: async () => {} }
  }
  const reader: Context['reader'] = (shard = DEFAULT_SHARD) => {
    const opening = openedReaders.get(shard) ?? openReaderOf(shard)
    openedReaders.set(shard, opening)
    return opening
  }
  async function close(): Promise<void> {
    for (const each of [...openedReaders.values(), ...opened.values()])
      await (await each.catch(() => undefined))?.close()
  }
  return { core, reader, close }
}

async function openDirectoryAt({ databaseUrl }: OpenPostgres): Promise<Directory> {
  const { openDirectory } = await import('#sharding/directory.ts')
  return openDirectory({ databaseUrl, log: () => {} })
}

interface OpenPostgres {
  readonly databaseUrl: string
  readonly ownerUrl: string | undefined
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

/**
 * Addresses of an additional shard, from the settings. @throws WrongShardDatabase if it was not added, or is another
 * database
 */
async function additionalShardAddresses(config: Config, shard: string, directory: Directory): Promise<Addresses> {
  const { assertShard, shardNotAdded: notAdded } = await import('#sharding/shard-identity.ts')
  const named = config.SHARDS?.find(({ name }) => name === shard)
  if (!named || !(await directory.shards()).some(({ name }) => name === shard)) throw notAdded(shard)
  await assertShard(named.url, { name: shard })
  return addressesOf(config, named)
}

interface OpenCoreOptions extends Omit<OpenPostgres, 'stop'>, Partial<DirectoryHooks> {
  readonly config: Config
  readonly masterKeys: CoreOptions['masterKeys']
  readonly upgrades: boolean
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

async function openForReading({ config, ...options }: Omit<OpenCoreOptions, 'upgrades'>): Promise<OpenedReader | null> {
  const { openReader } = await import('#service/reader.ts')
  const proofOptions = async () => (await import('#service/core-settings.ts')).coreSettings(config)
  const place = { dataDir: config.DATA_DIR, connections: CONNECTIONS }
  return openReader({ ...options, ...OF_COMMANDS, ...place, proofOptions })
}

async function open({ config, databaseUrl, ownerUrl, onForgotten, ...options }: OpenCoreOptions): Promise<OpenedCore> {
  const [{ coreSettings }, { openCore }, { createErasureList: createForgottenList }] = await Promise.all([
    import('#service/core-settings.ts'),
    import('#service/core.ts'),
    import('#privacy/erasure-list.ts'),
  ])
  let hasForgotten = false
  const core = await openCore({
    ...coreSettings(config),
    ...OF_COMMANDS,
    ...options,
    databaseUrl,
    ownerUrl,
    queryConnections: CONNECTIONS,
    onOutdated: () => {},
    onForgotten(former) {
      hasForgotten = true
      onForgotten?.(former)
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

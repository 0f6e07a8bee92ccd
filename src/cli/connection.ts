import { constants } from 'node:os'
import { isAbsolute, relative } from 'node:path'
import { type Addresses, addressesOf, type Config, configOf, readConfig } from '#config/config.ts'
import { DEFAULT_SHARD } from '#config/databases.ts'
import { loadMasterKeys } from '#crypto/master-keys.ts'
import { newId } from '#lib/ids.ts'
import type { Core, CoreOptions } from '#service/core.ts'
import type { Directory } from '#sharding/directory.ts'
import type { DirectoryHooks } from '#sharding/directory-hooks.ts'
import { createShardsView } from '#sharding/shards.ts'
import { createProgress } from './progress.ts'
import type { Context, NamedShard } from './verb.ts'

/** Commands run one by one on one connection; a list may be read at the same time. */
const CONNECTIONS = 2

/** A context with the resources to close at the end. */
export interface OpenContext extends Context {
  close(): Promise<void>
}

/** Opens databases on demand: not every verb needs one, and a wrong flag must not start a server. */
export function createContext(env: Readonly<Record<string, string | undefined>>, json = false): OpenContext {
  const config = readConfig(env)
  const { SHARDS = [] } = config
  const opened = new Map<string, Promise<OpenedCore>>()
  let postgres: Promise<OpenPostgres> | undefined
  let openedDirectory: Promise<Directory> | undefined

  /** Opened cores, by shard. */
  const cores = new Map<string, Core>()
  const shards = createShardsView([DEFAULT_SHARD, ...SHARDS.map(({ name }) => name)], (name) => cores.get(name))
  const main = () => (postgres ??= openPostgres(config))
  const directory = () => (openedDirectory ??= main().then(openDirectoryAt))
  const addresses = async (name: string): Promise<Addresses> =>
    name === DEFAULT_SHARD ? main() : additionalShardAddresses(config, name, await directory())
  async function openShard(name: string, upgrades: boolean): Promise<OpenedCore> {
    if (SHARDS.length === 0) return open({ ...(await main()), config, upgrades, masterKeys: loadMasterKeys(config) })
    const known = await directory()
    const place = await addresses(name)
    const { createDirectoryHooks: hooksOf } = await import('#sharding/directory-hooks.ts')
    const hooks = hooksOf({ directory: known, shards, log: () => {} }, name, SHARDS)
    return open({ ...place, config: configOf(config, name), upgrades, masterKeys: loadMasterKeys(config), ...hooks })
  }
  const core: Context['core'] = async ({ upgrades = false, shard = DEFAULT_SHARD } = {}) => {
    const opening = opened.get(shard) ?? openShard(shard, upgrades)
    opened.set(shard, opening)
    const { core } = await opening
    cores.set(shard, core)
    return core
  }
  const progress = createProgress({ stream: process.stderr, isShown: !json, clock: () => performance.now() })
  return {
    config,
    json,
    progress,
    core,
    addresses,
    directory,
    coreOf: async (companyId) =>
      SHARDS.length === 0 ? core() : core({ shard: (await (await directory()).shardOf(companyId)) ?? DEFAULT_SHARD }),
    async shards(options) {
      const added = SHARDS.length === 0 ? [] : await (await directory()).shards()
      const all: NamedShard[] = [{ name: DEFAULT_SHARD, core: await core(options) }]
      for (const { name } of added)
        if (name !== DEFAULT_SHARD) all.push({ name, core: await core({ ...options, shard: name }) })
      return all
    },
    async close() {
      progress.end()
      for (const each of opened.values()) await (await each.catch(() => undefined))?.close()
      await (await openedDirectory?.catch(() => undefined))?.close()
      await (await postgres?.catch(() => undefined))?.stop()
    },
  }
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
  const [{ startEmbedded }, { hasCluster }, { assertSupported: assertFit }] = await Promise.all([
    import('#postgres/embedded.ts'),
    import('#postgres/cluster.ts'),
    import('#postgres/requirements.ts'),
  ])
  const { DATABASE_URL, DATABASE_OWNER_URL, DATA_DIR } = config
  if (DATABASE_URL === undefined && !hasCluster(DATA_DIR)) throw new NoInstallation(DATA_DIR)
  const starting = DATABASE_URL === undefined ? startEmbedded({ dataDir: DATA_DIR, kind: 'command' }) : null
  const stop = async () => (await starting)?.stop()
  if (starting)
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.once(signal, () => stop().finally(() => process.exit(128 + constants.signals[signal])))
  const embedded = await starting
  const databaseUrl = embedded?.url ?? DATABASE_URL ?? ''
  try {
    await assertFit(databaseUrl, { undurable: config.ALLOW_UNDURABLE_POSTGRES, newId })
  } catch (error) {
    await stop()
    throw error
  }
  return { databaseUrl, ownerUrl: embedded?.ownerUrl ?? DATABASE_OWNER_URL, stop }
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

async function open({ config, databaseUrl, ownerUrl, onForgotten, ...options }: OpenCoreOptions): Promise<OpenedCore> {
  const [{ coreSettings, openCore }, { createErasureList: createForgottenList }] = await Promise.all([
    import('#service/core.ts'),
    import('#privacy/erasure-list.ts'),
  ])
  let hasForgotten = false
  const core = await openCore({
    ...coreSettings(config),
    ...options,
    databaseUrl,
    ownerUrl,
    queryConnections: CONNECTIONS,
    applicationName: 'tillbook command',
    onKeyMade: (source) =>
      console.error(`A master key was made in ${source}: keep a copy of it apart from the database.`),
    // The verb receives the error too and reports it.
    log: () => {},
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

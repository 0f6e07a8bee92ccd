import type { RequestHandler, Router } from 'express'
import type { AddressLimit } from '#access/minute-limit.ts'
import type { Repetition } from '#background/repeat.ts'
import { type Addresses, addressesOf, configOf } from '#config/config.ts'
import { DEFAULT_SHARD, type NamedUrl } from '#config/databases.ts'
import { loadMasterKeys } from '#crypto/master-keys.ts'
import { Unavailable } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import type { PaymentProvider } from '#payments/provider-port.ts'
import type { Metrics } from '#service/metrics/metrics.ts'
import { accessOnShard, createShardedAccess } from '#sharding/cross-shard-access.ts'
import { type Directory, openDirectory } from '#sharding/directory.ts'
import { createDirectoryHooks } from '#sharding/directory-hooks.ts'
import { sweepOnSchedule } from '#sharding/directory-sweep.ts'
import type { PersonDirectory } from '#sharding/persons.ts'
import { createShardsView, type Shards } from '#sharding/shards.ts'
import { createAdditionalShard, type DefaultShardServices, type OpenShard } from './additional-shard.ts'
import { type CommonServices, type InterfaceAccess, openCommon, panelLimitsOf } from './api.ts'
import type { Core } from './core.ts'
import type { CheckHealth } from './health.ts'
import { logOf } from './log.ts'
import type { SharedServices } from './role.ts'
import { createShard, type ShardOptions } from './shard.ts'
import { createShardRouter } from './shard-router.ts'

/** The shards that a process serves; usually one. */
export interface ServedShards {
  /** Opens the default shard, which is required, and tries each of the others once. */
  open(addresses: Addresses, provider: PaymentProvider): Promise<SharedServices>
  /** Router of all shards; the process serves from now on. */
  serve(): RequestHandler
  readonly health: CheckHealth
  /** Whether a newer version has replaced this process. */
  isOver(): boolean
  /** Stops background roles, and requests that have no natural end. */
  quiet(): Promise<void>
  /** Called after the last request was answered. */
  close(): Promise<void>
}

interface ShardsOptions extends Omit<ShardOptions, 'metrics' | 'masterKeys' | 'directory'> {
  readonly metrics: Metrics
  readonly addresses: AddressLimit
}

export const createServedShards = (options: ShardsOptions): ServedShards =>
  options.config.SHARDS ? severalShards(options, options.config.SHARDS) : oneShard(options)

/** With a single shard, no other code deals with shards (SHARD-1). */
function oneShard(options: ShardsOptions): ServedShards {
  const main = createShard({ ...options, masterKeys: loadMasterKeys })
  let common: CommonServices | null = null
  return {
    ...main,
    async open(addresses, provider) {
      const shared = await main.open(addresses, provider)
      await main.begin()
      return shared
    },
    serve() {
      common = openCommon(options.config, options.metrics, options.addresses, newId)
      main.succeed()
      return main.serve(common)
    },
    async close() {
      await main.close()
      common?.close()
    },
  }
}

function severalShards(options: ShardsOptions, named: readonly NamedUrl[]): ServedShards {
  const { config, metrics, log } = options
  const isApi = config.ROLES.includes('api')
  let directory: Directory | null = null
  const repeating: Repetition[] = []
  let interfaces: DefaultShardServices['interfaces'] = null
  const known = (): Directory => {
    if (!directory) throw new Unavailable('the directory is not open yet')
    return directory
  }
  const optionsOf = (shard: string): ShardOptions => {
    const logger = options.logger.child({ shard })
    return {
      ...options,
      logger,
      log: logOf(logger),
      config: configOf(config, shard),
      metrics: metrics.ofShard(shard),
      masterKeys: () => loadMasterKeys(config),
      directory: () => createDirectoryHooks({ directory: known(), shards: cores, log }, shard, named),
    }
  }
  const main = createShard(optionsOf(DEFAULT_SHARD))
  const further = named.map((each) => createAdditionalShard(each.name, addressesOf(config, each), optionsOf(each.name)))
  /** The default shard may not be open yet. */
  const partsOf = <T>(ofMain: () => T, partOf: (present: OpenShard) => T): Shards<T> =>
    createShardsView([DEFAULT_SHARD, ...further.map(({ name }) => name)], (name) => {
      if (name === DEFAULT_SHARD) return ofMain()
      const present = further.find((each) => each.name === name)?.present()
      return present ? partOf(present) : undefined
    })
  const cores = partsOf(
    () => main.core(),
    ({ core }) => core,
  )

  return {
    async open(addresses, provider) {
      directory = openDirectory({ databaseUrl: addresses.databaseUrl, log })
      const shared = await main.open(addresses, provider)
      await main.begin()
      if (isApi) interfaces = openServed(options, { directory, shards: cores })
      const founding = { main: shared.core, directory, provider, interfaces }
      await Promise.all(further.map((each) => each.start(founding)))
      if (config.ROLES.includes('projector')) repeating.push(...lookAfter(options, { directory, shards: cores }))
      return shared
    },
    serve() {
      const { common, access } = interfaces as NonNullable<typeof interfaces>
      main.succeed()
      const router = main.serve(common, accessOnShard(DEFAULT_SHARD, access, known()))
      const routers = partsOf(
        () => router,
        (present) => present.router as Router,
      )
      return createShardRouter({ directory: known(), shards: routers })
    },
    async health() {
      const states = await Promise.all(further.map(async (each) => [`shard_${each.name}`, await each.state()] as const))
      return { ...(await main.health()), shards: Object.fromEntries(states) }
    },
    isOver: () => [main, ...further].some((each) => each.isOver()),
    async quiet() {
      await Promise.all([...repeating.map((each) => each.stop()), ...[main, ...further].map((each) => each.quiet())])
    },
    async close() {
      await Promise.all(further.map((each) => each.close()))
      await main.close()
      await directory?.close()
      interfaces?.common.close()
    },
  }
}

/** Maintains the directory, which belongs to no single shard. */
function lookAfter(
  { log }: ShardsOptions,
  over: Pick<PersonDirectory, 'directory'> & { readonly shards: Shards<Core> },
) {
  return [sweepOnSchedule({ ...over, log }, (error) => log('the directory could not be swept', error))]
}

/** Access shared by the interfaces of all shards. */
function openServed(
  { config, metrics, addresses, log }: ShardsOptions,
  { directory, shards }: Pick<PersonDirectory, 'directory'> & { readonly shards: Shards<Core> },
): { readonly common: CommonServices; readonly access: InterfaceAccess } {
  const common = openCommon(config, metrics, addresses, newId)
  const access = createShardedAccess({
    directory,
    shards,
    mailer: shards.main.installationCheck.isCopy() ? null : common.mailer,
    publicUrl: config.PUBLIC_URL,
    tokenDays: config.SYNC_TOKEN_DAYS ?? null,
    panelLimits: panelLimitsOf(config),
    log,
  })
  return { common, access }
}

import { PANEL_LIMITS } from '#access/panel-quota.ts'
import { createSessions } from '#access/sessions.ts'
import { createTokens } from '#access/sync-access.ts'
import { DEFAULT_SHARD } from '#config/databases.ts'
import type { Core } from '#service/core.ts'
import { createShardedAccess } from '#sharding/cross-shard-access.ts'
import { openDirectory } from '#sharding/directory.ts'
import { createDirectoryHooks } from '#sharding/directory-hooks.ts'
import { prepareShard } from '#sharding/prepare-shard.ts'
import { createShardsView } from '#sharding/shards.ts'
import { MASTER_KEY, masterKeys } from '../test/support/master-key.ts'
import type { Child } from './child.ts'
import { type Company, createCompanies } from './companies.ts'
import { asAfterADay, type BenchDatabase, startDatabase } from './database.ts'
import { type Environment, QUOTAS } from './environment.ts'
import { type Meter, meterOf } from './processor.ts'
import { openBenchCore, withCore } from './shop.ts'

/** Shard with its companies. */
export interface StagedShard {
  readonly name: string
  readonly database: BenchDatabase
  readonly companies: readonly Company[]
}

/** Service over one or several shards, each on its own Postgres server, all on this machine. */
export interface Stage {
  readonly service: Child
  readonly shards: readonly StagedShard[]
  /** Meter of the service and all its Postgres servers. */
  readonly meter: Meter
}

interface StageOptions {
  /** With one shard the service knows of no others. */
  readonly shards: number
  readonly companiesOfShard: number
  /** Webhook URL of a company by its position (shard after shard); null for none. */
  readonly webhookOf?: (place: number) => string | null
  /** Roles of the service; default: all. */
  readonly roles?: string
}

const log = (message: string, error: unknown) => console.error(message, error)

/** Prepares everything for `work`, and stops the servers afterwards. The service is stopped with its environment. */
export async function withStage<T>(
  { start }: Pick<Environment, 'start'>,
  options: StageOptions,
  work: (stage: Stage) => Promise<T>,
): Promise<T> {
  const databases: BenchDatabase[] = []
  try {
    for (let place = 0; place < options.shards; place++) databases.push(await startDatabase())
    const named = databases.map((database, place) => ({ name: nameOf(place), database }))
    const settled = await settle(named, options)
    const [main, ...others] = databases as [BenchDatabase, ...BenchDatabase[]]
    const further = others.map(({ url }, place) => `${nameOf(place + 1)}=${url}`).join(',')
    const env = {
      DATABASE_URL: main.url,
      ...(others.length > 0 && { SHARDS: further }),
      MASTER_KEY,
      LOG_LEVEL: 'warn',
      WEBHOOK_ALLOW_PRIVATE: 'true',
      ...(options.roles !== undefined && { ROLES: options.roles }),
      ...QUOTAS,
    }
    await Promise.all(databases.map(asAfterADay))
    const service = await start('dist/src/main.js', env, {
      ready: '/health/ready',
    })
    const meter = await meterOf(
      [service],
      databases.map(({ url }) => url),
    )
    if (!meter) throw new Error('the processor time of these processes cannot be told')
    const shards = named.map((shard, place) => ({ ...shard, companies: settled[place] as Company[] }))
    return await work({ service, shards, meter }).finally(() => service.stop())
  } finally {
    for (const database of databases.reverse()) await database.stop()
  }
}

const nameOf = (place: number): string => (place === 0 ? DEFAULT_SHARD : `shard-${place}`)

/** Makes databases the shards of one installation, like `tillbook shard add`, and creates companies in them. */
async function settle(
  named: readonly { readonly name: string; readonly database: BenchDatabase }[],
  { companiesOfShard, webhookOf = () => null }: StageOptions,
): Promise<Company[][]> {
  const [first, ...others] = named as [(typeof named)[0], ...typeof named]
  if (others.length === 0) return [await settleAlone(first.database.url, companiesOfShard, webhookOf)]
  const cores = new Map<string, Core>()
  const shards = createShardsView(
    named.map(({ name }) => name),
    (name) => cores.get(name),
  )
  const directory = openDirectory({ databaseUrl: first.database.url, log })
  const open = async (name: string, url: string) =>
    cores.set(
      name,
      await openBenchCore(url, { reserve: createDirectoryHooks({ directory, shards, log }, name, []).reserve }),
    )
  try {
    await open(DEFAULT_SHARD, first.database.url)
    for (const { name, database } of others) {
      const { url: databaseUrl, ownerUrl } = database
      await prepareShard({ name, existingShard: shards.main.pool, databaseUrl, ownerUrl, masterKeys })
      await directory.addShard(name)
      await open(name, databaseUrl)
    }
    const access = createShardedAccess({
      directory,
      shards,
      log,
      mailer: null,
      publicUrl: 'http://bench',
      tokenDays: null,
      panelLimits: PANEL_LIMITS,
    })
    const settled: Company[][] = []
    for (const [shard, { name }] of named.entries()) {
      const register = (companyId: number) => directory.register(companyId, name)
      const founding = { core: shards.at(name), ids: shards.main.pool, ...access, register }
      const before = shard * companiesOfShard
      settled.push(await createCompanies(founding, companiesOfShard, (place) => webhookOf(before + place)))
    }
    return settled
  } finally {
    for (const core of cores.values()) await core.close()
    await directory.close()
  }
}

const settleAlone = (url: string, companies: number, webhookOf: (place: number) => string | null): Promise<Company[]> =>
  withCore(url, (core) => {
    const access = {
      sessions: createSessions(core.pool, () => {}),
      tokens: createTokens(core.pool, { days: null, secret: core.requestSecret }),
    }
    return createCompanies({ core, ids: core.pool, ...access, register: async () => {} }, companies, webhookOf)
  })

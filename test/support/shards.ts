import { randomUUID } from 'node:crypto'
import type { RequestHandler, Router } from 'express'
import type { PanelLimits } from '#access/panel-quota.ts'
import { DEFAULT_SHARD } from '#config/databases.ts'
import type { Mailer } from '#notifications/mailer.ts'
import { createPool } from '#postgres/pool.ts'
import type { InterfaceAccess } from '#service/api.ts'
import type { Core } from '#service/core.ts'
import { createShardRouter } from '#service/shard-router.ts'
import { createShardedAccess } from '#sharding/cross-shard-access.ts'
import { type Directory, openDirectory } from '#sharding/directory.ts'
import { createDirectoryHooks, type DirectoryHooks } from '#sharding/directory-hooks.ts'
import { prepareShard } from '#sharding/prepare-shard.ts'
import { createShardsView, type Shards } from '#sharding/shards.ts'
import { cloneDatabase, hasDatabase, TEMPLATES } from './database.ts'
import { masterKeys } from './master-key.ts'
import { onDatabase } from './server.ts'

/** Name of the second shard. */
export const SOUTH = 'south'

/**
 * Default distribution of companies: with `TEST_SHARDS=2` they alternate, with `TEST_SHARDS=south` all are on the second
 * shard.
 */
export const SPREAD: '1' | '2' | 'south' = spreadOf(process.env.TEST_SHARDS ?? '1')

function spreadOf(text: string): typeof SPREAD {
  if (text === '1' || text === '2' || text === 'south') return text
  throw new Error('TEST_SHARDS is 1, 2 or south')
}

/** URL of the second shard's database, derived from the first one; `useDatabase` drops both. */
export const southOf = (databaseUrl: string): string =>
  onDatabase(databaseUrl, `${new URL(databaseUrl).pathname.slice(1)}_south`)

/** Settings of separate processes in tests with several shards. */
export const shardsEnv = async (databaseUrl: string): Promise<Record<string, string>> =>
  SPREAD === '1' ? {} : { SHARDS: `${SOUTH}=${await addSouth(databaseUrl)}` }

const added = new Map<string, Promise<string>>()

/** Creates the second shard, unless another service of the test has created it. */
export function addSouth(databaseUrl: string): Promise<string> {
  const adding = added.get(databaseUrl) ?? makeSouth(databaseUrl)
  added.set(databaseUrl, adding)
  return adding
}

async function makeSouth(databaseUrl: string): Promise<string> {
  const url = southOf(databaseUrl)
  const name = new URL(url).pathname.slice(1)
  const [giver, shard] = [databaseUrl, url].map((each) => createPool(each, { max: 1 })) as [Pool, Pool]
  const directory = openDirectory({ databaseUrl, log: () => {} })
  try {
    if (await hasDatabase(name)) return url
    await cloneDatabase(name, TEMPLATES.withReadModel)
    // A clone has the installation id of its template.
    await shard.query('update ops.installation set id = $1', [randomUUID()])
    await prepareShard({ name: SOUTH, existingShard: giver, databaseUrl: url, ownerUrl: undefined, masterKeys })
    await directory.addShard(DEFAULT_SHARD)
    await directory.addShard(SOUTH)
    return url
  } finally {
    await directory.close()
    await Promise.all([giver.end(), shard.end()])
  }
}

type Pool = ReturnType<typeof createPool>

type Log = (message: string, error: unknown) => void

/** Both shards of a service in the test process. */
export interface TwoShards {
  readonly directory: Directory
  readonly cores: Shards<Core>
  access(options: {
    readonly mailer: Mailer | null
    readonly tokenDays: number | null
    readonly publicUrl: string
    readonly panelLimits: PanelLimits
  }): InterfaceAccess
  front(routers: Readonly<Record<string, Router>>): RequestHandler
  close(): Promise<void>
}

export async function openTwoShards(
  databaseUrl: string,
  log: Log,
  open: (shard: { readonly name: string; readonly url: string; readonly hooks: DirectoryHooks }) => Promise<Core>,
): Promise<TwoShards> {
  const south = await addSouth(databaseUrl)
  const directory = openDirectory({ databaseUrl, log })
  const opened = new Map<string, Core>()
  const cores = createShardsView([DEFAULT_SHARD, SOUTH], (name) => opened.get(name))
  for (const [name, url] of [
    [DEFAULT_SHARD, databaseUrl],
    [SOUTH, south],
  ] as const)
    opened.set(
      name,
      await open({
        name,
        url,
        hooks: createDirectoryHooks({ directory, shards: cores, log }, name, [{ name: SOUTH, url: south }]),
      }),
    )
  return {
    directory,
    cores,
    access: (options) => createShardedAccess({ directory, shards: cores, log, ...options }),
    front: (routers) =>
      createShardRouter({ directory, shards: createShardsView(Object.keys(routers), (name) => routers[name]) }),
    async close() {
      for (const core of opened.values()) await core.close()
      await directory.close()
    },
  }
}

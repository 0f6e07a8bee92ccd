import { availableParallelism } from 'node:os'
import type { Pool } from 'pg'
import type { Addresses, Config } from '#config/config.ts'
import { loadMasterKeys } from '#crypto/master-keys.ts'
import { createVault } from '#crypto/vault.ts'
import { ownStreams } from '#ledger/follow/placement.ts'
import { createPersonKeys } from '#ledger/person-keys.ts'
import type { RebuildReport } from '#ledger/rebuild/build.ts'
import { declareAllKeysLost } from '#ledger/rebuild/lost-keys.ts'
import { createEventStoreDb } from '#ledger/stores/eventstoredb.ts'
import { migrateAsOwner } from '#postgres/migrate.ts'
import { createPool } from '#postgres/pool.ts'
import { readModel } from '#projections/index.ts'
import { assertEmpty, unfinishedShardName } from '#sharding/assert-empty.ts'
import type { DirectoryHooks } from '#sharding/directory-hooks.ts'
import { prepareShard } from '#sharding/prepare-shard.ts'
import { type Core, openCore } from './core.ts'
import { coreSettings } from './core-settings.ts'

export interface ShardToRebuild extends Addresses {
  readonly name: string
  /** Settings of this shard. */
  readonly config: Config
  readonly eventStoreUrl: string
  /** Another shard with the installation's id, secrets and checkpoint keys; null if there is none. */
  readonly giver: Pool | null
  /** With several shards only. */
  readonly hooks: DirectoryHooks | null
  /** If true, data sealed with a missing key becomes null; otherwise a missing key is an error. */
  readonly withoutKeys: boolean
  readonly tell: (line: string) => void
  /** Called with the number of events of each applied batch. */
  readonly onApplied?: (events: number) => void
}

export interface ShardRebuildReport {
  readonly companies: number
  /** Events applied by this run. */
  readonly events: number
  readonly events_per_second: number
  /** Person keys that were declared lost. */
  readonly lost_keys: number
}

/** One processor decrypts and applies events; Postgres writes with one processor per parallel company. */
const MOST_PARALLEL = 8

/**
 * Rebuilds a shard in an empty Postgres from the event store (SHARD-94). Data that was only in `ops` is lost. A killed
 * run is continued by the next. The core must be closed. @throws UnsupportedPostgres if the database holds anything
 * else
 */
export async function rebuildShard(
  given: ShardToRebuild,
): Promise<{ readonly core: Core; readonly report: ShardRebuildReport }> {
  const { name, databaseUrl, ownerUrl, config, giver, hooks, tell, onApplied } = given
  await assertEmpty(databaseUrl, name)
  const masterKeys = loadMasterKeys(config)
  if (giver)
    await prepareShard({ name: unfinishedShardName(name), existingShard: giver, databaseUrl, ownerUrl, masterKeys })
  const lost_keys = given.withoutKeys ? await giveUp(given) : 0
  const started_ms = performance.now()
  const rateOf = (events: number) => Math.round((events / (performance.now() - started_ms)) * 1000)
  const built: { report: RebuildReport | null; rate: number } = { report: null, rate: 0 }
  const core = await openCore({
    ...coreSettings(config),
    ...hooks,
    databaseUrl,
    ownerUrl,
    masterKeys,
    queryConnections: 2,
    applicationName: 'tillbook command',
    building: {
      missingKeys: 'fail',
      parallel: Math.min(MOST_PARALLEL, Math.max(2, availableParallelism())),
      ...(onApplied && { onApplied }),
      onBuilt(report) {
        built.report = report
        built.rate = rateOf(report?.events ?? 0)
      },
    },
    log: (message, error) => tell(`${message}: ${error}`),
    onOutdated: () => {},
  })
  await core.pool.query('update ops.installation set name = $1', [name])
  const { events = 0, companies = 0 } = built.report ?? {}
  return { core, report: { companies, events, events_per_second: built.rate, lost_keys } }
}

async function giveUp({ databaseUrl, ownerUrl, config, eventStoreUrl, hooks, tell }: ShardToRebuild): Promise<number> {
  const pool = createPool(databaseUrl, { max: 2, application_name: 'tillbook command' })
  const whole = createEventStoreDb(eventStoreUrl)
  try {
    await migrateAsOwner({ pool, databaseUrl, ownerUrl })
    const store = hooks ? ownStreams(whole, pool, hooks.resolvePlacement) : whole
    const keys = createPersonKeys(pool, createVault(loadMasterKeys(config)))
    const lost = await declareAllKeysLost({ pool, store, model: readModel, keys })
    if (lost > 0) tell(`${lost} keys of persons are lost: what they sealed is empty from now on`)
    return lost
  } finally {
    await whole.close()
    await pool.end()
  }
}

import { availableParallelism } from 'node:os'
import type { Addresses, Config } from '#config/config.ts'
import { loadMasterKeys } from '#crypto/master-keys.ts'
import { createVault } from '#crypto/vault.ts'
import type { RebuildReport } from '#ledger/rebuild/build.ts'
import { declareAllKeysLost } from '#ledger/rebuild/replay.ts'
import { createPersonKeys } from '#ledger/sealed-fields.ts'
import { createEventStoreDb } from '#ledger/stores/eventstoredb.ts'
import { UnsupportedPostgres } from '#lib/errors.ts'
import { migrateAsOwner } from '#postgres/migrate.ts'
import { createPool, withPool } from '#postgres/pool.ts'
import { readModel } from '#projections/index.ts'
import { type Core, coreSettings, openCore } from './core.ts'

export interface DatabaseToRebuild extends Addresses {
  readonly config: Config
  readonly eventStoreUrl: string
  /** If true, data sealed with a missing key becomes null; otherwise a missing key is an error. */
  readonly withoutKeys: boolean
  readonly tell: (line: string) => void
  /** Called with the number of events of each applied batch. */
  readonly onApplied?: (events: number) => void
}

export interface DatabaseRebuildReport {
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
 * Rebuilds an empty Postgres from the event store. Data that was only in `ops` is lost. A killed run is
 * continued by the next. The core must be closed. @throws UnsupportedPostgres if the database holds anything else
 */
export async function rebuildDatabase(
  given: DatabaseToRebuild,
): Promise<{ readonly core: Core; readonly report: DatabaseRebuildReport }> {
  const { databaseUrl, ownerUrl, config, tell, onApplied } = given
  await assertEmpty(databaseUrl)
  const lost_keys = given.withoutKeys ? await giveUp(given) : 0
  const started_ms = performance.now()
  const rateOf = (events: number) => Math.round((events / (performance.now() - started_ms)) * 1000)
  const built: { report: RebuildReport | null; rate: number } = { report: null, rate: 0 }
  const core = await openCore({
    ...coreSettings(config),
    databaseUrl,
    ownerUrl,
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
  const { events = 0, companies = 0 } = built.report ?? {}
  return { core, report: { companies, events, events_per_second: built.rate, lost_keys } }
}

/** Schemas of an installation, also during a rebuild. */
const OURS = '^(ops|ledger|read|read_next)$'

/**
 * Accepts an empty database, and one that an interrupted rebuild has begun to fill. A foreign schema, or
 * complete tables, may be in use. @throws UnsupportedPostgres; nothing was changed
 */
async function assertEmpty(databaseUrl: string): Promise<void> {
  await withPool(databaseUrl, { max: 1, application_name: 'tillbook command' }, async (pool) => {
    const { rows } = await pool.query<{ others: string | null; isPrepared: boolean }>(
      `select string_agg(distinct n.nspname || '.' || c.relname, ', ') filter (where n.nspname !~ '${OURS}') as others,
         to_regclass('ops.read_model') is not null as "isPrepared"
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p', 'v', 'm', 'S', 'f') and n.nspname !~ '^(pg_|information_schema$)'`,
    )
    const { others = null, isPrepared = false } = rows[0] ?? {}
    if (others !== null)
      throw new UnsupportedPostgres(`the database is neither empty nor of Tillbook: it contains ${others}`)
    if (isPrepared && (await pool.query('select from ops.read_model')).rowCount !== 0)
      throw new UnsupportedPostgres('the database already has ledgers and tables: there is nothing to rebuild')
  })
}

async function giveUp({ databaseUrl, ownerUrl, config, eventStoreUrl, tell }: DatabaseToRebuild): Promise<number> {
  const pool = createPool(databaseUrl, { max: 2, application_name: 'tillbook command' })
  const store = createEventStoreDb(eventStoreUrl)
  try {
    await migrateAsOwner({ pool, databaseUrl, ownerUrl })
    const keys = createPersonKeys(pool, createVault(loadMasterKeys(config)))
    const lost = await declareAllKeysLost({ pool, store, model: readModel, keys })
    if (lost > 0) tell(`${lost} keys of persons are lost: what they sealed is empty from now on`)
    return lost
  } finally {
    await store.close()
    await pool.end()
  }
}

import { availableParallelism } from 'node:os'
import type { Pool } from 'pg'
import type { Config } from '#config/config.ts'
import { assertEmpty } from '#homes/assert-empty.ts'
import { prepareHome } from '#homes/prepare.ts'
import { createWhereLives, type HomeUrl } from '#homes/where-lives.ts'
import { ownStreams } from '#ledger/follow/whereabouts.ts'
import { createPersonKeys } from '#ledger/person-keys.ts'
import { giveUpLostKeys } from '#ledger/rebuild/lost-keys.ts'
import type { RebuildReport } from '#ledger/rebuild/rebuild.ts'
import { createEventStoreDb } from '#ledger/stores/eventstoredb.ts'
import { createVault } from '#lib/vault.ts'
import { masterKeysOf } from '#master-key/keys.ts'
import { migrateAsOwner } from '#postgres/migrate.ts'
import { createPool } from '#postgres/pool.ts'
import { readModel } from '#projections/index.ts'
import { coreSettings, openCore } from './core.ts'
import type { Addresses } from './home.ts'

export interface HomeToRebuild {
  readonly name: string
  readonly addresses: Addresses
  /** The settings as they are for this home. */
  readonly config: Config & { readonly EVENTSTORE_URL: string }
  /** All homes, this one too. */
  readonly homes: readonly HomeUrl[]
  /** Another home, from which the installation's id, secrets and keys of seals are; null where there is none. */
  readonly giver: Pool | null
  /** What is sealed with keys that are lost is null from now on; else a key that is not there is a failure. */
  readonly withoutKeys: boolean
  readonly tell: (line: string) => void
}

export interface HomeRebuildReport {
  readonly home: string
  readonly companies: number
  /** Applied by this run. */
  readonly events: number
  readonly events_per_second: number
  /** Keys of persons that were given up. */
  readonly lost_keys: number
}

/** Events are opened and applied on one processor, and written by as many of Postgres's as there are companies side by side. */
const MOST_PARALLEL = 8

/**
 * Makes an empty Postgres a home again from the event store (HOME-94): what `ops` alone knew is lost. A run that was killed at any
 * moment is gone on with by the next. @throws UnfitPostgres where there is anything else in it
 */
export async function rebuildHome(given: HomeToRebuild): Promise<HomeRebuildReport> {
  const { name, addresses, config, homes, giver, tell } = given
  await assertEmpty(addresses.databaseUrl, name)
  if (giver) await prepareHome({ name, giver, ...addresses, masterKeys: masterKeysOf(config) })
  const lost_keys = given.withoutKeys ? await giveUp(given) : 0
  const started_ms = performance.now()
  const rate = (events: number) => Math.round((events / (performance.now() - started_ms)) * 1000)
  let report: RebuildReport | null = null
  const core = await openCore({
    ...coreSettings(config),
    ...addresses,
    masterKeys: masterKeysOf(config),
    whereLives: homes.length > 1 ? createWhereLives(name, homes) : undefined,
    queryConnections: 2,
    applicationName: 'tillbook command',
    building: {
      parallel: parallelHere(),
      onProgress: (events) => tell(`${events} events, ${rate(events)} a second`),
      onBuilt: (built) => {
        report = built
      },
    },
    log: (message, error) => tell(`${message}: ${error}`),
    onOutdated: () => {},
  })
  const { events = 0, companies = 0 } = (report as RebuildReport | null) ?? {}
  const seconds_rate = rate(events)
  await core.close()
  return { home: name, companies, events, events_per_second: seconds_rate, lost_keys }
}

const parallelHere = (): number => Math.min(MOST_PARALLEL, Math.max(2, availableParallelism()))

async function giveUp({ name, addresses, config, homes, tell }: HomeToRebuild): Promise<number> {
  const pool = createPool(addresses.databaseUrl, { max: 2, application_name: 'tillbook command' })
  const whole = createEventStoreDb(config.EVENTSTORE_URL)
  try {
    await migrateAsOwner({ pool, ...addresses })
    const store = homes.length > 1 ? ownStreams(whole, pool, createWhereLives(name, homes)) : whole
    const keys = createPersonKeys(pool, createVault(masterKeysOf(config)))
    const lost = await giveUpLostKeys({ pool, store, model: readModel, keys })
    if (lost > 0) tell(`${lost} keys of persons are lost: what they sealed is empty from now on`)
    return lost
  } finally {
    await whole.close()
    await pool.end()
  }
}

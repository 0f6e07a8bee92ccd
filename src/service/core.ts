import type { Pool } from 'pg'
import { installationSecret } from '#access/installation-secret.ts'
import type { Config } from '#config/config.ts'
import { claimDatabase } from '#crypto/master-key-registry.ts'
import { loadMasterKeys, type MasterKeys } from '#crypto/master-keys.ts'
import { createVault, type Vault } from '#crypto/vault.ts'
import type { PaymentLinks } from '#domain/payment-link.ts'
import { attestorNames } from '#integrity/attestors/configured-attestors.ts'
import type { AsOfBounds } from '#integrity/audit/as-of.ts'
import type { Verifier } from '#integrity/audit/verify.ts'
import { sealDirectoryOf } from '#integrity/proofs/checkpoint-files.ts'
import type { Sealing } from '#integrity/proofs/checkpoints.ts'
import {
  blockableWriter,
  createInstallationCheck,
  type InstallationCheck,
} from '#integrity/proofs/installation-watch.ts'
import type { ProofServices } from '#integrity/proofs/proofs.ts'
import type { Prover } from '#integrity/proofs/prover.ts'
import { type CatchUpSubscription, startCatchUpSubscription } from '#ledger/follow/follower.ts'
import { ownStreams, type ResolvePlacement } from '#ledger/follow/placement.ts'
import { guarded, prepare } from '#ledger/follow/preparation.ts'
import { createAheadCount, ensureLedger } from '#ledger/ledgers.ts'
import { companiesWithMissingKeys } from '#ledger/missing-keys.ts'
import { createPersonKeys, type PersonKeys } from '#ledger/person-keys.ts'
import { type EventStore, isOutside } from '#ledger/port.ts'
import type { ReadModel } from '#ledger/projection.ts'
import type { RebuildOptions, RebuildReport } from '#ledger/rebuild/build.ts'
import { ensureReadModel, rebuild } from '#ledger/rebuild/rebuild.ts'
import type { TablesVerification, VerifyTablesOptions } from '#ledger/rebuild/verify-tables.ts'
import { assertCompatible, assertNotOlder, readSchemasOf, versionOfTables } from '#ledger/rebuild/version.ts'
import type { OpenReadSession } from '#ledger/replicas/reads.ts'
import { createPostgresStore } from '#ledger/stores/postgres.ts'
import type { Committed } from '#ledger/write/attempt.ts'
import type { CatchUpOptions } from '#ledger/write/catch-up.ts'
import type { QueueLimits } from '#ledger/write/queue.ts'
import { createWriter, type Writer, type WriterOptions } from '#ledger/write/writer.ts'
import type { LimiterFigures } from '#lib/fair-share-limiter.ts'
import { newId } from '#lib/ids.ts'
import { createKeyedSemaphore, type SemaphoreLimits } from '#lib/keyed-semaphore.ts'
import { createLiveNotifier } from '#live/notifier.ts'
import { switchOffNotifications } from '#notifications/switch-off-notifications.ts'
import { migrateAsOwner } from '#postgres/migrate.ts'
import { createPool } from '#postgres/pool.ts'
import { assertLeast } from '#postgres/privileges.ts'
import { type PoolOf, sharePool } from '#postgres/shared-pool.ts'
import { createErasureReactor, type FormerEmails } from '#privacy/erasure-reactor.ts'
import { keyDestruction } from '#privacy/key-destruction.ts'
import { testDataReset } from '#privacy/test-data-reset.ts'
import { readModel } from '#projections/index.ts'
import { withPaymentLinks } from '#projections/payment-links.ts'
import { createDeliveryNotifier, type DeliveryNotifier } from '#webhooks/notifier.ts'
import { outbox } from '#webhooks/outbox.ts'
import {
  asOwner,
  type OwnerConnection,
  type Rebuilding,
  verifyOnOwnConnections,
  withRebuild,
} from './maintenance-connection.ts'
import { unblockCompany } from './missing-keys.ts'
import { assertOwnStore, createInstallationFile, createProofParts, type ProofOptions } from './proofs.ts'
import { type MeasuredReplica, openReads, type ReplicaOptions } from './read-replicas.ts'

/** States of the parts that the service needs, by name. */
export type PartStates = Record<string, 'up' | 'down' | 'catching_up'>

/** The ledger with its read model, without any interface: what the service, the command line and tests build on. */
export interface Core {
  /** For queries and operational statements that are of no company, or that come before it is known. */
  readonly pool: Pool
  /** For those of a company: its share of the same connections. */
  readonly poolOf: PoolOf
  /** For what is known of logins, which one home keeps for all. */
  readonly logins: () => Pool
  /** Where its records are read for one answer that may be as old as it says: on a standby, where there is one. */
  readonly readsOf: OpenReadSession
  /** What it reads from besides. */
  readonly standbys: readonly MeasuredReplica[]
  readonly store: EventStore
  readonly model: ReadModel
  readonly writer: Writer
  /** It also writes while `standing` has trouble: for what a restore records, and for whom it must forget again. */
  readonly writerAfterRestore: Writer
  /** Whether database, DATA_DIR and event store belong together. */
  readonly standing: InstallationCheck
  /** All that it holds open to Postgres, by name. */
  readonly pools: Readonly<Record<string, Pool>>
  /** What companies share, by name. */
  readonly shared: Readonly<Record<string, LimiterFigures>>
  /** Verifies ledgers, a few at a time. */
  readonly verifier: Verifier
  /** Proves what ledgers hold, and that they only grew. */
  readonly prover: Prover
  /** What checkpoints are made with; null where there is no place for them. */
  readonly sealing: Sealing | null
  /** Checkpoints and keys, for callers. */
  readonly proof: ProofServices
  /** For answers as of a moment of the past. */
  readonly asOf: AsOfBounds
  /** Seals and opens secrets. */
  readonly vault: Vault
  /** What personal fields of events are sealed with. */
  readonly keys: PersonKeys
  /** What hashes of requests are keyed with, in all processes of the database. */
  readonly requestSecret: Buffer
  /** What the links of buyers are made with, in all processes of the database too. */
  readonly paymentLinks: PaymentLinks
  /** Rung when deliveries wait. */
  readonly deliveryNotifier: DeliveryNotifier
  /** Makes the ledger of a new company, whose id is one that no other has. @throws Unavailable */
  found(companyId: number): Promise<void>
  /** Makes all tables of the read model anew from the ledgers, beside the live ones, and compares them. */
  rebuild(building?: Pick<RebuildOptions, 'onProgress' | 'parallel' | 'pace'>): Promise<RebuildReport>
  /** Compares a company's rows in all tables of the read model with those that its ledger makes, as of one revision. */
  verifyTables(companyId: number, options?: Pick<VerifyTablesOptions, 'pace' | 'yields'>): Promise<TablesVerification>
  /** Applies what other processes leave behind in a store outside Postgres; null where the store needs nobody for that. */
  follow(): CatchUpSubscription | null
  /** What of it can be reached: `down` in a part explains why something is refused. */
  health(): Promise<PartStates>
  /** Ledgers that take no writes, because their last event lies ahead of Postgres's clock (LEDGER-20). */
  ledgersAhead(): Promise<number>
  /** Companies that are read-only, because keys of their persons are missing (LEDGER-51). */
  missingKeys(): Promise<readonly number[]>
  /** Ends that where the company's ledger can be opened again. Returns whether it takes writes now. */
  unblock(companyId: number): Promise<boolean>
  /** Work on ledgers as the owner of the database, on a pool whose statements take as long as they need (OPS-104). */
  asOwner<T>(work: (pool: Pool) => Promise<T>): Promise<T>
  /** Answers what was accepted, then closes all connections. */
  close(): Promise<void>
}

/** A start that makes tables. */
interface Building extends Pick<RebuildOptions, 'parallel' | 'onProgress' | 'missingKeys'> {
  /** Hears what was done; of null where there was nothing to do. */
  readonly onBuilt?: (report: RebuildReport | null) => void
}

export interface CoreOptions extends OwnerConnection, ProofOptions, ReplicaOptions {
  /** Hears what that role could do and should not, where it stands alone. */
  readonly onExcess?: (privileges: readonly string[]) => void
  /** `esdb://…`; without it the ledgers are in the same Postgres. */
  readonly eventStoreUrl?: string | undefined
  /** What secrets are sealed with. */
  readonly masterKeys: MasterKeys
  /** Hears where a master key was made, which the operator has to keep a copy of. */
  readonly onKeyMade?: (source: string) => void
  /** Where callers and buyers reach the service; without it orders have no links. */
  readonly publicUrl?: string
  /** What belongs to the database on this machine; without it nothing is compared with it. */
  readonly dataDir?: string
  /** Where companies live that this Postgres does not know, where several homes share a store outside Postgres. */
  readonly whereLives?: ResolvePlacement | undefined
  /** How tables are made where there are none, or those of another version, and who hears of it. */
  readonly building?: Building
  /** Another store, for tests. */
  readonly store?: EventStore
  /** Another read model, for tests. */
  readonly model?: ReadModel
  /** False: a database of another version is left as it is, and refused. */
  readonly upgrades?: boolean
  /** Connections for queries; the writer has its own. */
  readonly queryConnections: number
  /** How Postgres knows the connections; a service's name by default. */
  readonly applicationName?: string
  readonly log: (message: string, error: unknown) => void
  /** Tells the directory that a company lives here from its first event on; without it there is one home. @throws Unavailable */
  readonly register?: ((companyId: number) => Promise<void>) | undefined
  /** Called when a newer version has replaced the tables; this process cannot write any more. */
  readonly onOutdated: () => void
  /** Called after a commit with which persons were forgotten. */
  readonly onForgotten?: (former: readonly FormerEmails[]) => void
  /** Makes names known in the directory before they are written; absent where there is one home. */
  readonly reserve?: WriterOptions['reserve']
  /** Where another home keeps what is known of logins. */
  readonly logins?: () => Pool
  /** Longest time for an answer as of a moment of the past. */
  readonly asOfTimeoutMs?: number
  /** Hears of each group that the writer has answered. */
  readonly onGroup?: WriterOptions['onGroup']
}

/** What settings say of it. */
export const coreSettings = (config: Config) => ({
  publicUrl: config.PUBLIC_URL,
  eventStoreUrl: config.EVENTSTORE_URL,
  dataDir: config.DATA_DIR,
  masterKeys: loadMasterKeys(config),
  seals: { directory: sealDirectoryOf(config), keyFile: config.SEAL_KEY_FILE },
  outsiders: attestorNames(config),
  asOfTimeoutMs: config.AS_OF_SECONDS * 1000,
})

/**
 * Two groups under way keep Postgres busy while the next ones gather; more lanes only make the groups smaller. Two uploads or
 * batches, of two companies, in turns: one is decided while Postgres writes the other; more would keep processor and disk from all others.
 */
const WRITER_LIMITS: QueueLimits = { groupCommands: 32, lanes: 2, largeLanes: 2, waitingCommands: 5_000 }
/** One for each lane, and one to resolve unknown outcomes. */
const WRITER_CONNECTIONS = WRITER_LIMITS.lanes + WRITER_LIMITS.largeLanes + 1
/** Reads that wait for a connection. */
const WAITING_QUERIES = 2_000

/** A company has half of the connections at most, so that others find one at once, whatever it asks for. */
const queryTurns = (connections: number): SemaphoreLimits => ({
  running: connections,
  runningOfKey: Math.ceil(connections / 2),
  waiting: WAITING_QUERIES,
})

/** Each holds one of the query connections. */
const AS_OF: SemaphoreLimits = { running: 2, runningOfKey: 1, waiting: 256, waitingOfKey: 32 }
const AS_OF_TIMEOUT_MS = 10_000

/** Its statements look rows up by key only: without the other plans no stale statistics can lead to a scan. */
const WRITER_POOL = { max: WRITER_CONNECTIONS, pipeline: true, keyLookupsOnly: true } as const

/**
 * Migrates the database, makes the read model fit, and opens the writer. @throws IncompatibleVersion before anything is touched, when
 * the database is a newer version's, or an older one's that is not to be upgraded; UnsupportedPostgres where roles are not as they should be.
 */
export async function openCore(options: CoreOptions): Promise<Core> {
  const { model = readModel } = options
  const vault = createVault(options.masterKeys)
  const known = sessionsOf(model, options)
  const pool = createPool(options.databaseUrl, { max: options.queryConnections, pipeline: true, ...known })
  const queries = createKeyedSemaphore(queryTurns(options.queryConnections))
  const poolOf = sharePool(pool, queries)
  const whole = await storeOf(options, pool, poolOf)
  const store = ownPartOf(whole, pool, options)
  const keys = createPersonKeys(pool, vault)
  const rebuilding = { databaseUrl: options.databaseUrl, pool, store, model, keys }
  // Whether a store is empty is not told by one home's companies.
  const standing = createInstallationCheck(createInstallationFile({ pool, store: whole }, options))
  await bringUp({ ...rebuilding, standing }, options)
  const paymentLinks = await paymentLinksOf(pool, vault, options)
  const { writing, deliveryNotifier, liveNotifier } = writingOf(options, { ...rebuilding, paymentLinks })
  const writer = createWriter(writing)
  const following = isOutside(store) ? { ...writing, store, whereLives: options.whereLives } : null
  const preparation = following && prepare(following, () => assertOwnStore(standing))
  await preparation?.tried
  const writerAfterRestore = preparation ? guarded(writer, preparation) : writer
  const proving = createProofParts({ pool, store, standing }, options)
  const asOfTurns = createKeyedSemaphore(AS_OF)
  const reading = { pool, poolOf, store, model, connections: options.queryConnections, turnsOf: queryTurns }
  const { readsOf, standbys, leave } = openReads({ ...reading, ...options, sessions: known })
  return {
    pool,
    poolOf,
    logins: options.logins ?? (() => pool),
    readsOf,
    standbys,
    store,
    model,
    writer: blockableWriter(writerAfterRestore, standing),
    writerAfterRestore,
    standing,
    pools: { queries: pool, writer: writing.pool },
    shared: {
      commands: writer.waiting,
      queries,
      verifications: proving.verifier.waiting,
      proofs: proving.prover.waiting,
      as_of: asOfTurns,
    },
    ...proving,
    asOf: { turns: asOfTurns, timeoutMs: options.asOfTimeoutMs ?? AS_OF_TIMEOUT_MS },
    vault,
    keys,
    requestSecret: await installationSecret(pool, vault, 'request_hashes'),
    paymentLinks,
    deliveryNotifier,
    ...worksOn(options, { ...rebuilding, following }),
    follow: () => following && startCatchUpSubscription(following),
    ledgersAhead: createAheadCount(pool, () => performance.now()),
    health: () => healthOf(pool, store, () => preparation?.isDone() ?? true),
    async close() {
      await leave()
      await preparation?.stop()
      await writer.idle()
      if (isOutside(store)) await store.close()
      await liveNotifier.close()
      await Promise.all([pool.end(), writing.pool.end()])
    },
  }
}

type Works = Pick<Core, 'found' | 'rebuild' | 'verifyTables' | 'asOwner' | 'missingKeys' | 'unblock'>

interface WorkParts extends Rebuilding {
  /** Null where the ledgers are in Postgres. */
  readonly following: CatchUpOptions | null
}

/** What is done to whole ledgers, apart from commands. */
function worksOn(options: CoreOptions, { following, ...rebuilding }: WorkParts): Works {
  const { pool } = rebuilding
  return {
    async found(companyId) {
      await options.register?.(companyId)
      await ensureLedger(pool, companyId)
    },
    rebuild: (building = {}) => withRebuild({ ...rebuilding, ...building }, (work) => rebuild(work)),
    verifyTables: (companyId, verifying = {}) => verifyOnOwnConnections({ ...rebuilding, ...verifying }, companyId),
    asOwner: (work) => asOwner(options, work),
    missingKeys: () => companiesWithMissingKeys(pool),
    unblock: (companyId) =>
      unblockCompany({ pool, following, verify: () => verifyOnOwnConnections(rebuilding, companyId) }, companyId),
  }
}

/** What the writer works with, and who hears of what it has done. */
function writingOf(
  options: CoreOptions,
  { databaseUrl, pool, store, model, keys, paymentLinks }: Rebuilding & Pick<Core, 'paymentLinks'>,
) {
  const { onOutdated, onGroup, log, onForgotten, reserve } = options
  const deliveryNotifier = createDeliveryNotifier(pool, (error) => log('dispatchers could not be woken', error))
  const liveNotifier = createLiveNotifier(pool, (error) => log('what was committed could not be told', error))
  const wiping = createErasureReactor(onForgotten)
  const writing = {
    pool: createPool(databaseUrl, { ...WRITER_POOL, ...sessionsOf(model, options) }),
    store,
    model: withPaymentLinks(model, paymentLinks),
    keys,
    limits: WRITER_LIMITS,
    reactors: [keyDestruction, outbox, switchOffNotifications, wiping.reactor, testDataReset],
    newId,
    onCommitted: (moved: readonly Committed[]) => {
      if (moved.some(({ hasReacted }) => hasReacted)) deliveryNotifier.notify()
      liveNotifier.notify(moved)
      wiping.onCommitted()
    },
    onOutdated,
    onGroup,
    reserve,
    log,
  }
  return { writing, deliveryNotifier, liveNotifier }
}

/** What all connections to Postgres have in common. */
const sessionsOf = (model: ReadModel, { applicationName }: CoreOptions) => ({
  read_schemas: readSchemasOf(model),
  ...(applicationName !== undefined && { application_name: applicationName }),
})

async function paymentLinksOf(pool: Pool, vault: Vault, { publicUrl }: CoreOptions): Promise<PaymentLinks> {
  return { secret: await installationSecret(pool, vault, 'payment_links'), publicUrl: publicUrl ?? null }
}

/** Migrations and tables of this version, where that is wanted or nothing is there yet; else what was opened is closed. @throws IncompatibleVersion */
async function bringUp(
  { standing, ...rebuilding }: Rebuilding & Pick<Core, 'standing'>,
  { ownerUrl, masterKeys, upgrades = true, building = {}, onKeyMade = () => {}, onExcess = () => {} }: CoreOptions,
): Promise<void> {
  const { databaseUrl, pool, store, model } = rebuilding
  try {
    await assertNotOlder(pool, model)
    await migrateAsOwner({ pool, databaseUrl, ownerUrl }, { upgrades })
    await assertLeast(pool, { onExcess: ownerUrl === undefined ? onExcess : null })
    await claimDatabase({ pool, keys: masterKeys, onMade: onKeyMade })
    await assertOwnStore(standing)
    if (upgrades || (await versionOfTables(pool)) === null)
      await withRebuild({ ...rebuilding, missingKeys: 'block', ...building }, (work) =>
        ensureReadModel(work).then(building.onBuilt),
      )
    else await assertCompatible(pool, model)
  } catch (error) {
    if (isOutside(store)) await store.close()
    await pool.end()
    throw error
  }
}

async function healthOf(pool: Pool, store: EventStore, isCaughtUp: () => boolean): Promise<PartStates> {
  const isUp = (part: Promise<unknown>) => part.then(() => 'up' as const).catch(() => 'down' as const)
  const postgres = await isUp(pool.query('select 1'))
  if (!isOutside(store)) return { postgres }
  const event_store = await isUp(store.ping())
  return { postgres, event_store: event_store === 'up' && !isCaughtUp() ? 'catching_up' : event_store }
}

const ownPartOf = (store: EventStore, pool: Pool, { whereLives }: CoreOptions): EventStore =>
  whereLives && isOutside(store) ? ownStreams(store, pool, whereLives) : store

async function storeOf({ store, eventStoreUrl }: CoreOptions, pool: Pool, poolOf: PoolOf): Promise<EventStore> {
  if (store) return store
  if (eventStoreUrl === undefined) return createPostgresStore(pool, { poolOf })
  // Its client is large: whoever has no EventStoreDB should not wait for it.
  const { createEventStoreDb } = await import('#ledger/stores/eventstoredb.ts')
  return createEventStoreDb(eventStoreUrl)
}

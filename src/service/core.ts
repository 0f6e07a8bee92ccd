import type { Pool } from 'pg'
import { installationSecret } from '#access/credentials.ts'
import type { Config } from '#config/config.ts'
import { loadMasterKeys } from '#crypto/master-keys.ts'
import { createVault, type Vault } from '#crypto/vault.ts'
import type { PaymentLinks } from '#domain/order-states.ts'
import { createLiveNotifier } from '#http/live-updates.ts'
import type { LedgerReads } from '#integrity/as-of.ts'
import { attestorNames } from '#integrity/attestor-settings.ts'
import type { NamedAttestor } from '#integrity/attestors.ts'
import { loadOwnCheckpoints } from '#integrity/checkpoint-schedule.ts'
import type { Sealing } from '#integrity/checkpoints.ts'
import { assertConsistent, createInstallationCheck, type InstallationCheck } from '#integrity/installation-check.ts'
import { sealDirectory } from '#integrity/note.ts'
import { createProver } from '#integrity/prover.ts'
import { createProofServices } from '#integrity/sale-receipts.ts'
import type { TablesCore } from '#integrity/table-checks.ts'
import { createVerifier } from '#integrity/verify.ts'
import {
  type CatchUpSubscription,
  type Preparation,
  prepare,
  startCatchUpSubscription,
} from '#ledger/follow/follower.ts'
import { createAheadCount, ensureLedger } from '#ledger/ledgers.ts'
import { type EventStore, isOutside } from '#ledger/port.ts'
import type { ReadModel } from '#ledger/projection.ts'
import type { RebuildOptions, RebuildReport } from '#ledger/rebuild/build.ts'
import { ensureReadModel, rebuild, type TablesVerification } from '#ledger/rebuild/rebuild.ts'
import { assertCompatible, listReadSchemas, versionOfTables } from '#ledger/rebuild/version.ts'
import { companiesWithMissingKeys, createPersonKeys, loadMissingKeys, unblock } from '#ledger/sealed-fields.ts'
import { createPostgresStore } from '#ledger/stores/postgres-store.ts'
import { type CatchUpOptions, type Committed, catchUpCompany } from '#ledger/write/attempt.ts'
import {
  type AdmissionCheck,
  createWriter,
  type QueueLimits,
  type Writer,
  type WriterOptions,
} from '#ledger/write/writer.ts'
import { createKeyedSemaphore, type LimiterFigures, type SemaphoreLimits } from '#lib/fair-sharing.ts'
import { newId } from '#lib/ids.ts'
import { createPool, type PoolOf, sharePool } from '#postgres/pool.ts'
import { testDataReset } from '#privacy/erase-person.ts'
import { createErasureReactor, keyDestruction } from '#privacy/erasures.ts'
import { readModel } from '#projections/index.ts'
import { withPaymentLinks } from '#projections/orders.ts'
import type { Proofs } from '#services.ts'
import { switchOffNotifications } from '#webhooks/endpoint-health.ts'
import { createDeliveryNotifier, type DeliveryNotifier, outbox } from '#webhooks/outbox.ts'
import { noteStockChanges } from '#webhooks/stock-changes.ts'
import { assertOwnStore, type BringUpOptions, bringUpDatabase, createInstallationFile } from './bring-up.ts'
import {
  asOwner,
  type Rebuilding,
  verifyChangesOnOwnConnections,
  verifyOnOwnConnections,
  withRebuild,
} from './maintenance-connection.ts'
import { type MeasuredReplica, openReads, type ReplicaOptions } from './read-replicas.ts'

/** Core options from the settings. */
export const coreSettings = (config: Config) => ({
  publicUrl: config.PUBLIC_URL,
  eventStoreUrl: config.EVENTSTORE_URL,
  dataDir: config.DATA_DIR,
  masterKeys: loadMasterKeys(config),
  seals: { directory: sealDirectory(config), keyFile: config.SEAL_KEY_FILE },
  attestors: attestorNames(config),
  asOfTimeoutMs: config.AS_OF_SECONDS * 1000,
})

interface Unblocking {
  readonly pool: Pool
  /** Null if the ledgers are in Postgres. */
  readonly following: CatchUpOptions | null
  /** Compares the company's tables with its ledger. @throws CannotOpen */
  readonly verify: () => Promise<TablesVerification>
}

/**
 * Makes a company writable again after its keys were restored or declared lost, and applies its pending events. Its
 * tables may have been built with empty fields; they must match a replay of the ledger. After restored keys they do not
 * match, and the company needs a rebuild. Returns whether the company takes writes now. @throws CannotOpen while keys
 * are missing
 */
async function unblockCompany({ pool, following, verify }: Unblocking, companyId: number): Promise<boolean> {
  const before = await loadMissingKeys(pool, companyId)
  if (before === null) return true
  if (following) await catchUpCompany(following, companyId, { waits: true })
  if (before === 'blank') {
    const found = await verify()
    if (found.kind !== 'verified' || found.differences.length > 0) return false
  }
  await unblock(pool, companyId, before)
  return (await loadMissingKeys(pool, companyId)) === null
}

interface Ledgers {
  readonly pool: Pool
  readonly store: EventStore
  readonly installationCheck: InstallationCheck
}

export interface ProofOptions {
  /** Directory and key of checkpoints; without it the process makes none. */
  readonly seals?: Pick<Sealing, 'directory' | 'keyFile'>
  /** Attestors of checkpoints. */
  readonly attestors?: readonly NamedAttestor[]
}

/** Services that prove the integrity of ledgers. */
export function createProofParts({ pool, store, installationCheck }: Ledgers, { seals, attestors = [] }: ProofOptions) {
  const clock = Date.now
  const now = () => new Date().toISOString()
  const assertMaySeal = async () => assertConsistent(installationCheck)
  const sealing: Sealing | null = seals ? { pool, store, ...seals, now, assertMaySeal } : null
  const proof = createProofServices(pool, { sealing, attestors })
  const verifier = createVerifier(
    { pool, store },
    { clock, sealedOf: (companyId) => loadOwnCheckpoints(sealing, companyId) },
  )
  const prover = createProver({ pool, store, newestOf: proof.newest, clock })
  return { sealing, proof, verifier, prover }
}

/** States of the service's dependencies, by name. */
export type PartStates = Record<string, 'up' | 'down' | 'catching_up'>

/** The ledger with its read model, without any interface. The service, the command line and tests build on it. */
export interface Core extends LedgerReads, Proofs {
  /** Connections of the statements that look up keys, logins, sessions and tokens: each request waits for one. */
  readonly gate: Pool
  readonly writer: Writer
  /** Checks that database, DATA_DIR and event store belong together. */
  readonly installationCheck: InstallationCheck
  /** Key of request hashes, the same in all processes of the database. */
  readonly requestSecret: Buffer
  /** Notified when deliveries are pending. */
  readonly deliveryNotifier: DeliveryNotifier
  /** Creates the ledger of a new company under an unused id. @throws Unavailable */
  found(companyId: number): Promise<void>
  /** Read replicas. */
  readonly replicas: readonly MeasuredReplica[]
  /** Writes even during a write block: for recording a restore and repeating erasures after it. */
  readonly writerAfterRestore: Writer
  /** All Postgres pools, by name. */
  readonly pools: Readonly<Record<string, Pool>>
  /** Limits shared by companies, by name. */
  readonly shared: Readonly<Record<string, LimiterFigures>>
  /** Creates checkpoints; null without a directory for them. */
  readonly sealing: Sealing | null
  /** Rebuilds all read model tables from the ledgers, beside the live ones, and compares both. */
  rebuild(building?: Pick<RebuildOptions, 'onApplied' | 'parallel' | 'pace'>): Promise<RebuildReport>
  /** Compares a company's rows in all read model tables with a replay of its ledger, at the same revision. */
  readonly verifyTables: TablesCore['verifyTables']
  /** Compares what has changed in companies since their last comparison; several at once. */
  readonly verifyChanges: TablesCore['verifyChanges']
  /**
   * Applies events that other processes wrote to an event store outside Postgres; null if the ledgers are in Postgres.
   */
  follow(): CatchUpSubscription | null
  /** States of the dependencies; `down` explains why a request is refused. */
  health(): Promise<PartStates>
  /** Number of ledgers that take no writes because their last event is ahead of Postgres's clock. */
  ledgersAhead(): Promise<number>
  /** Ids of companies that are read-only because keys of their persons are missing. */
  missingKeys(): Promise<readonly number[]>
  /** Ends that state if the company's ledger can be decrypted again. Returns whether the company takes writes now. */
  unblock(companyId: number): Promise<boolean>
  /** Works on ledgers as the database owner, on a pool without statement timeout. */
  asOwner<T>(work: (pool: Pool) => Promise<T>): Promise<T>
  /** Answers accepted commands, then closes all connections. */
  close(): Promise<void>
}

/** Options of a start that builds tables. */
interface Building extends Pick<RebuildOptions, 'parallel' | 'onApplied' | 'missingKeys'> {
  /** Called with the report; with null if there was nothing to build. */
  readonly onBuilt?: (report: RebuildReport | null) => void
}

export interface CoreOptions extends BringUpOptions, ProofOptions, ReplicaOptions {
  /** `esdb://…`; without it the ledgers are in the same Postgres. */
  readonly eventStoreUrl?: string | undefined
  /** Public address for clients and buyers; without it orders have no links. */
  readonly publicUrl?: string
  /** Directory on this machine that belongs to the database; without it nothing is compared. */
  readonly dataDir?: string
  /** How missing or outdated tables are built, and the callbacks for it. */
  readonly building?: Building
  /** Another event store, for tests. */
  readonly store?: EventStore
  /** Another read model, for tests. */
  readonly model?: ReadModel
  /** Connections for queries; the writer has its own. */
  readonly queryConnections: number
  /** `application_name` of the connections; the service's by default. */
  readonly applicationName?: string
  readonly log: (message: string, error: unknown) => void
  /** Called when a newer version has replaced the tables; this process can no longer write. */
  readonly onOutdated: () => void
  /** Called after a commit that erased persons. */
  readonly onForgotten?: () => void
  /** Time limit for an answer as of a past moment. */
  readonly asOfTimeoutMs?: number
  /** Called for each group that the writer has answered. */
  readonly onGroup?: WriterOptions['onGroup']
  /** Checks of the process that precede those of the core. */
  readonly admission?: readonly AdmissionCheck[]
}

/**
 * Two groups in flight keep Postgres busy while the next ones gather; more lanes only make the groups smaller. Two
 * uploads or batches of different companies alternate: one is decided while Postgres writes the other. More would take
 * processor and disk from all other requests.
 */
const WRITER_LIMITS: QueueLimits = { groupCommands: 32, lanes: 2, largeLanes: 2, waitingCommands: 5_000 }
/** One for each lane, and one to resolve unknown outcomes. */
const WRITER_CONNECTIONS = WRITER_LIMITS.lanes + WRITER_LIMITS.largeLanes + 1

/**
 * One for API keys, which are looked up by one statement at a time, and one for logins, sessions and tokens. All requests
 * wait for them, so a silently broken one must be detected soon (after twice this time).
 */
const GATE_POOL = { max: 2, statement_timeout_ms: 5_000, pipeline: true, keyLookupsOnly: true } as const

/** Reads that may wait for a connection. */
const WAITING_QUERIES = 2_000

/** A company gets at most half of the connections, so that other companies find a free one. */
const queryTurns = (connections: number): SemaphoreLimits => ({
  running: connections,
  runningOfKey: Math.ceil(connections / 2),
  waiting: WAITING_QUERIES,
})

/** Each as-of answer occupies one of the query connections. */
const AS_OF: SemaphoreLimits = { running: 2, runningOfKey: 1, waiting: 256, waitingOfKey: 32 }
const AS_OF_TIMEOUT_MS = 10_000

/** The writer looks rows up by key only. With other plans disabled, stale statistics cannot cause a scan. */
const WRITER_POOL = { max: WRITER_CONNECTIONS, pipeline: true, keyLookupsOnly: true } as const

/**
 * Migrates the database, brings the read model to this version, and opens the writer. @throws IncompatibleVersion
 * before any change, if the database belongs to a newer version, or to an older one that may not be upgraded;
 * UnsupportedPostgres if database roles are wrong.
 */
export async function openCore(options: CoreOptions): Promise<Core> {
  const { model = readModel } = options
  const vault = createVault(options.masterKeys)
  const known = sessionsOf(model, options)
  const pool = createPool(options.databaseUrl, { max: options.queryConnections, pipeline: true, ...known })
  const gate = createPool(options.databaseUrl, { ...GATE_POOL, ...known, application_name: 'tillbook gate' })
  const queries = createKeyedSemaphore(queryTurns(options.queryConnections))
  const poolOf = sharePool(pool, queries)
  const store = await storeOf(options, pool, poolOf)
  const keys = createPersonKeys(pool, vault)
  const rebuilding = { databaseUrl: options.databaseUrl, pool, store, model, keys }
  const installationCheck = createInstallationCheck(createInstallationFile({ pool, store }, options))
  await bringUp({ ...rebuilding, installationCheck }, options)
  const paymentLinks = await paymentLinksOf(pool, vault, options)
  const { writing, deliveryNotifier, liveNotifier } = writingOf(options, { ...rebuilding, paymentLinks })
  const writer = createWriter(writing)
  const following = isOutside(store) ? { ...writing, store } : null
  const preparation = following && prepare(following, () => assertOwnStore(installationCheck))
  await preparation?.tried
  const proving = createProofParts({ pool, store, installationCheck }, options)
  const asOfTurns = createKeyedSemaphore(AS_OF)
  const reading = { pool, poolOf, store, model, connections: options.queryConnections, turnsOf: queryTurns }
  const { readsOf, replicas, leave } = openReads({ ...reading, ...options, sessions: known })
  return {
    pool,
    poolOf,
    gate,
    readsOf,
    replicas,
    store,
    model,
    ...writersOf(options, writer, { installationCheck, preparation }),
    installationCheck,
    pools: { queries: pool, writer: writing.pool, gate },
    shared: {
      commands: writer.queue,
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
      await writer.queue.idle()
      if (isOutside(store)) await store.close()
      await Promise.all([deliveryNotifier.close(), liveNotifier.close()])
      await Promise.all([pool.end(), writing.pool.end(), gate.end()])
    },
  }
}

/** What must hold before a request joins the queue. Its company's state is decided under the lock of its ledger. */
function writersOf(
  { admission = [] }: CoreOptions,
  writer: Writer,
  { installationCheck, preparation }: Pick<Core, 'installationCheck'> & { readonly preparation: Preparation | null },
): Pick<Core, 'writer' | 'writerAfterRestore'> {
  const consistent = () => assertConsistent(installationCheck)
  const caughtUp = () => preparation?.assertDone()
  return {
    writer: { ...writer, admission: [...admission, consistent, caughtUp] },
    writerAfterRestore: { ...writer, admission: [...admission, caughtUp] },
  }
}

type Works = Pick<Core, 'found' | 'rebuild' | 'verifyTables' | 'verifyChanges' | 'asOwner' | 'missingKeys' | 'unblock'>

interface WorkParts extends Rebuilding {
  /** Null if the ledgers are in Postgres. */
  readonly following: CatchUpOptions | null
}

/** Work on whole ledgers, apart from commands. */
function worksOn(options: CoreOptions, { following, ...rebuilding }: WorkParts): Works {
  const { pool } = rebuilding
  return {
    found: (companyId) => ensureLedger(pool, companyId),
    rebuild: (building = {}) => withRebuild({ ...rebuilding, ...building }, (work) => rebuild(work)),
    verifyTables: (companyId, verifying = {}) => verifyOnOwnConnections({ ...rebuilding, ...verifying }, companyId),
    verifyChanges: (checks, pace) => verifyChangesOnOwnConnections(rebuilding, checks, pace),
    asOwner: (work) => asOwner(options, work),
    missingKeys: () => companiesWithMissingKeys(pool),
    unblock: (companyId) =>
      unblockCompany({ pool, following, verify: () => verifyOnOwnConnections(rebuilding, companyId) }, companyId),
  }
}

/** Dependencies and callbacks of the writer. */
function writingOf(
  options: CoreOptions,
  { databaseUrl, pool, store, model, keys, paymentLinks }: Rebuilding & Pick<Core, 'paymentLinks'>,
) {
  const { onOutdated, onGroup, log, onForgotten } = options
  const deliveryNotifier = createDeliveryNotifier(pool, newId(), (error) =>
    log('webhooks: dispatchers not notified, polling finds the deliveries', error),
  )
  const liveNotifier = createLiveNotifier(pool, (error) => log('live: commits not announced to open pages', error))
  const erasure = createErasureReactor(onForgotten)
  const writing = {
    pool: createPool(databaseUrl, { ...WRITER_POOL, ...sessionsOf(model, options) }),
    store,
    model: withPaymentLinks(model, paymentLinks),
    keys,
    limits: WRITER_LIMITS,
    reactors: [keyDestruction, outbox, noteStockChanges, switchOffNotifications, erasure.reactor, testDataReset],
    newId,
    onCommitted: (moved: readonly Committed[]) => {
      if (moved.some(({ hasReacted }) => hasReacted)) deliveryNotifier.notify()
      liveNotifier.notify(moved)
      erasure.onCommitted()
    },
    onOutdated,
    onGroup,
    log,
  }
  return { writing, deliveryNotifier, liveNotifier }
}

/** Options shared by all Postgres connections. */
const sessionsOf = (model: ReadModel, { applicationName }: CoreOptions) => ({
  read_schemas: listReadSchemas(model),
  ...(applicationName !== undefined && { application_name: applicationName }),
})

async function paymentLinksOf(pool: Pool, vault: Vault, { publicUrl }: CoreOptions): Promise<PaymentLinks> {
  return { secret: await installationSecret(pool, vault, 'payment_links'), publicUrl: publicUrl ?? null }
}

/**
 * Applies migrations and builds tables of this version, if upgrades are allowed or the database is empty. Closes what
 * was opened if it fails. @throws IncompatibleVersion
 */
async function bringUp(
  { installationCheck, ...rebuilding }: Rebuilding & Pick<Core, 'installationCheck'>,
  options: CoreOptions,
): Promise<void> {
  const { pool, store, model } = rebuilding
  const { upgrades = true, building = {}, tell } = options
  try {
    await bringUpDatabase({ pool, model, installationCheck }, options)
    if (upgrades || (await versionOfTables(pool)) === null)
      await withRebuild({ ...rebuilding, missingKeys: 'block', ...(tell && { tell }), ...building }, (work) =>
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

async function storeOf({ store, eventStoreUrl }: CoreOptions, pool: Pool, poolOf: PoolOf): Promise<EventStore> {
  if (store) return store
  if (eventStoreUrl === undefined) return createPostgresStore(pool, { poolOf })
  // Loaded on demand: the client is large, and most installations have no EventStoreDB.
  const { createEventStoreDb } = await import('#ledger/stores/eventstoredb.ts')
  return createEventStoreDb(eventStoreUrl)
}

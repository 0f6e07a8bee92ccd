import type { Pool } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { readModel } from '../projections/index.ts'
import { createVerifier, type Verifier } from './audit/verifier.ts'
import { createIdAllocator } from './ledger/ids.ts'
import type { EventStore } from './ledger/port.ts'
import { createPostgresStore } from './ledger/postgres.ts'
import { ensureReadModel, rebuildReadModel } from './ledger/read-schema.ts'
import { createWriter, type Writer } from './ledger/writer.ts'
import { migrate } from './postgres/migrate.ts'
import { createPool } from './postgres/pool.ts'
import { type Bell, createBell } from './webhooks/bell.ts'
import { switchOffNotices } from './webhooks/notices.ts'
import { outbox } from './webhooks/outbox.ts'

/** The ledger with its read model, without any interface: what the service, the command line and tests build on. */
export interface Core {
  /** For queries and operational statements. */
  readonly pool: Pool
  readonly store: EventStore
  readonly writer: Writer
  /** Verifies ledgers, a few at a time. */
  readonly verifier: Verifier
  /** Rung when deliveries wait. */
  readonly bell: Bell
  /** Makes all tables of the read model anew from the ledgers. Returns the number of events applied. */
  rebuild(): Promise<number>
  /** Answers what was accepted, then closes all connections. */
  close(): Promise<void>
}

export interface CoreOptions {
  readonly databaseUrl: string
  /** Connections for queries; the writer has its own. */
  readonly queryConnections: number
  readonly log: (message: string, error: unknown) => void
  /** Called when another process has installed newer projections; this one cannot write any more. */
  readonly onOutdated: () => void
}

/** Two groups under way keep Postgres busy while the next ones gather; more lanes only make the groups smaller. */
const LANES = 2
const GROUP_COMMANDS = 32
const WAITING_COMMANDS = 5_000

/** Migrates the database, makes the read model fit, and opens the writer. */
export async function openCore(options: CoreOptions): Promise<Core> {
  await migrate(options.databaseUrl)
  const pool = createPool(options.databaseUrl, { max: options.queryConnections, pipeline: true })
  // Its statements look rows up by key only: without the other plans no stale statistics can lead to a scan.
  const writerPool = createPool(options.databaseUrl, { max: LANES + 1, pipeline: true, keyLookupsOnly: true })
  const store = createPostgresStore(pool)
  await ensureReadModel(writerPool, store, readModel)
  const bell = createBell(pool, (error) => options.log('dispatchers could not be woken', error))
  const writer = createWriter({
    pool: writerPool,
    store,
    model: readModel,
    ids: createIdAllocator(pool),
    limits: { groupCommands: GROUP_COMMANDS, lanes: LANES, waitingCommands: WAITING_COMMANDS },
    reactions: [outbox, switchOffNotices],
    newId: uuidv7,
    onReacted: bell.ring,
    onOutdated: options.onOutdated,
    log: options.log,
  })
  return {
    pool,
    store,
    writer,
    verifier: createVerifier({ pool, store }, Date.now),
    bell,
    rebuild: () => rebuildReadModel(writerPool, store, readModel),
    async close() {
      await writer.idle()
      await Promise.all([pool.end(), writerPool.end()])
    },
  }
}

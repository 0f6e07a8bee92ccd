import type { Pool } from 'pg'
import { v7 } from 'uuid'
import { createIdAllocator } from '../../src/ledger/ids.ts'
import { ensureLedger } from '../../src/ledger/ledgers.ts'
import type { EventStore } from '../../src/ledger/port.ts'
import { createPostgresStore } from '../../src/ledger/postgres.ts'
import { createWriter, type Writer } from '../../src/ledger/writer.ts'
import { createPool } from '../../src/postgres/pool.ts'
import { type CommitFault, flakyPool } from '../support/flaky-pool.ts'
import { counterDdl, counterModel } from './counters.ts'

/** A writer on counters whose store and COMMIT can fail, in a database of its own. */
export interface Harness {
  readonly pool: Pool
  readonly store: EventStore
  readonly writer: Writer
  readonly commitFaults: CommitFault[]
  readonly logged: string[]
  /** A second process on the same database and store. */
  another(): Writer
  close(): Promise<void>
}

/** `store` null is the one in Postgres. */
export async function openHarness(url: string, outside: EventStore | null, companies: readonly number[]): Promise<Harness> {
  const pool = createPool(url, { max: 4 })
  const writerPools: Pool[] = []
  await pool.query('create schema if not exists read')
  await pool.query("select 1 from pg_tables where schemaname = 'read' and tablename = 'counters'").then(async ({ rows }) => {
    if (rows.length === 0) await pool.query(counterDdl)
  })
  await pool.query(
    'insert into ops.read_model (version) values ($1) on conflict (only_row) do update set version = excluded.version',
    [counterModel.version],
  )
  for (const company of companies) await ensureLedger(pool, company)
  const store = outside ?? createPostgresStore(pool)
  const logged: string[] = []
  const writerOn = (writerPool: Pool): Writer =>
    createWriter({
      pool: writerPool,
      store,
      model: counterModel,
      ids: createIdAllocator(pool),
      limits: { groupCommands: 32, lanes: 2, waitingCommands: 1000 },
      newEventId: v7,
      onOutdated: () => logged.push('outdated'),
      log: (message) => logged.push(message),
    })
  const another = () => {
    const writerPool = createPool(url, { max: 3, pipeline: true, keyLookupsOnly: true })
    writerPools.push(writerPool)
    const flaky = flakyPool(writerPool)
    return { writer: writerOn(flaky.pool), faults: flaky.faults }
  }
  const first = another()
  return {
    pool,
    store,
    writer: first.writer,
    commitFaults: first.faults,
    logged,
    another: () => another().writer,
    async close() {
      await first.writer.idle()
      await Promise.all([pool, ...writerPools].map((each) => each.end()))
    },
  }
}

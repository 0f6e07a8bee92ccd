import type { Pool } from 'pg'
import type { EventStore } from '#ledger/port.ts'
import type { ReadModel } from '#ledger/projection.ts'
import { NEXT_SCHEMA } from '#ledger/rebuild/build.ts'
import { writeRequest } from '#ledger/write/writer.ts'
import { createPool } from '#postgres/pool.ts'
import { addition, counterModel } from './counters.ts'
import { empty, type Harness, openHarness } from './writer-harness.ts'

/** Connection name of a rebuild in pg_stat_activity. */
export const BUILDER = 'rebuild under test'

/** The counters' projections in another version of the service. */
export const newer: ReadModel = { ...counterModel, number: 2, version: 'newer' }

/** A writer on counters of two companies, and the connections that a rebuild of their table needs. */
export interface ReadTables {
  readonly harness: Harness
  readonly pool: Pool
  readonly buildPool: Pool
  /** Adds 1 to five counters of each company, in turn. */
  fill(count?: number, from?: number): Promise<void>
  /** Live rows in the text format of Postgres. */
  rows(): Promise<unknown[]>
  /** Stored version of the live tables. */
  version(): Promise<unknown>
  /** Names of current and former schemas of the read model. */
  schemas(): Promise<string[]>
  close(): Promise<void>
}

/** `store` null: the one in Postgres. */
export async function openReadTables(url: string, store: EventStore | null = null): Promise<ReadTables> {
  const harness = await openHarness(url, store, [1, 2])
  await empty(harness)
  const pool = createPool(url, { max: 4 })
  const buildPool = createPool(url, {
    max: 6,
    read_schemas: [NEXT_SCHEMA],
    pipeline: true,
    statement_timeout_ms: 0,
    application_name: BUILDER,
  })
  return {
    harness,
    pool,
    buildPool,
    async fill(count = 60, from = 0) {
      await Promise.all(
        Array.from({ length: count }, (_, n) =>
          writeRequest(harness.writer, addition(1 + (n % 2), { id: n % 5, by: 1 }, `key-${from + n}`)),
        ),
      )
    },
    async rows() {
      return (await harness.pool.query('select counters::text as row from counters order by company_id, id')).rows
    },
    async version() {
      return (await harness.pool.query('select version from ops.read_model')).rows
    },
    async schemas() {
      const { rows } = await harness.pool.query(
        `select nspname from pg_namespace where nspname like 'read%' order by 1`,
      )
      return rows.map(({ nspname }) => nspname)
    },
    async close() {
      await harness.close()
      await Promise.all([pool.end(), buildPool.end()])
    },
  }
}

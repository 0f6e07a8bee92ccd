import { expect } from 'chai'
import type { Pool } from 'pg'
import { v7 } from 'uuid'
import { type Envelope, GENESIS_HASH, hashEnvelope, streamName } from '#ledger/command.ts'
import { ensureLedger } from '#ledger/ledgers.ts'
import type { EventStore } from '#ledger/port.ts'
import { createPostgresStore } from '#ledger/stores/postgres-store.ts'
import { createWriter, type Writer } from '#ledger/write/writer.ts'
import { createPool } from '#postgres/pool.ts'
import { ownerUrlOf } from '../support/database.ts'
import { type CommitFault, flakyPool } from '../support/flaky-pool.ts'
import { keysIn } from '../support/master-key.ts'
import { administer } from '../support/server.ts'
import { emptyLedgers } from '../support/tamper.ts'
import { counterDdl, counterModel, echo, echoDdl } from './counters.ts'
import { collect } from './event-store-contract.ts'

/** Connection name of a writer in pg_stat_activity. */
export const WRITER = 'writer under test'

/** A writer on counters in its own database; its store and COMMIT can fail. */
export interface Harness {
  readonly pool: Pool
  readonly store: EventStore
  readonly writer: Writer
  readonly commitFaults: CommitFault[]
  readonly logged: string[]
  /** One entry per commit with work for others. */
  readonly rings: string[]
  /** A second process on the same database and store. */
  another(): Writer
  close(): Promise<void>
}

/** `store` null: the one in Postgres. */
export async function openHarness(
  url: string,
  outside: EventStore | null,
  companies: readonly number[],
  { lock_timeout_ms = 10_000 } = {},
): Promise<Harness> {
  const pool = createPool(url, { max: 4 })
  const writerPools: Pool[] = []
  await pool.query('create schema if not exists read')
  await pool
    .query("select 1 from pg_tables where schemaname = 'read' and tablename = 'counters'")
    .then(async ({ rows }) => {
      if (rows.length > 0) return
      await pool.query(counterDdl)
      await administer(ownerUrlOf(url), (client) => client.query(echoDdl))
    })
  await pool.query(
    `insert into ops.read_model (version, number, since, served_at) values ($1, $2, now(), now())
     on conflict (only_row) do update set version = excluded.version, number = excluded.number`,
    [counterModel.version, counterModel.number],
  )
  for (const company of companies) await ensureLedger(pool, company)
  const store = outside ?? createPostgresStore(pool)
  const logged: string[] = []
  const rings: string[] = []
  const writerOn = (writerPool: Pool): Writer =>
    createWriter({
      pool: writerPool,
      store,
      model: counterModel,
      keys: keysIn(pool),

      limits: { groupCommands: 32, lanes: 2, largeLanes: 1, waitingCommands: 5_000 },
      reactors: [echo],
      newId: v7,
      onCommitted: (moved) => {
        if (moved.some(({ hasReacted }) => hasReacted)) rings.push(WRITER)
      },
      onOutdated: () => logged.push('outdated'),
      log: (message) => logged.push(message),
    })
  const another = () => {
    const writerPool = createPool(url, {
      max: 4,
      pipeline: true,
      keyLookupsOnly: true,
      lock_timeout_ms,
      application_name: WRITER,
    })
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
    rings,
    another: () => another().writer,
    async close() {
      await first.writer.queue.idle()
      await Promise.all([pool, ...writerPools].map((each) => each.end()))
    },
  }
}

/** Deletes all events, rows and answers. */
export async function empty({ pool }: Harness): Promise<void> {
  await emptyLedgers(pool)
  await pool.query('delete from counters; delete from ops.echoes; delete from ops.idempotent_answers')
  await pool.query(
    `update ops.ledgers set revision = -1, reacted_revision = -1, hash = repeat('0', 64), last_recorded_at = null`,
  )
}

/** Asserts that a ledger is a chain of `count` events, and that the read model is at its end. */
export async function assertLedger({ pool, store }: Harness, companyId: number, count: number): Promise<Envelope[]> {
  const events = await collect(store.read(streamName(companyId), 0))
  expect(events, 'events in the stream').to.have.length(count)
  for (const [position, event] of events.entries()) {
    const { hash, ...rest } = event
    expect(event.revision).to.equal(position)
    expect(hash).to.equal(hashEnvelope(rest))
    expect(event.previous_hash).to.equal(events[position - 1]?.hash ?? GENESIS_HASH)
    expect(event.recorded_at >= (events[position - 1]?.recorded_at ?? '')).to.equal(true)
  }
  const counted = await pool.query('select coalesce(sum(value), 0)::int as value from counters where company_id = $1', [
    companyId,
  ])
  expect(counted.rows[0].value, 'value in the read model').to.equal(count)
  await assertReactors(pool, companyId, events)
  const ledger = await pool.query('select * from ledgers where company_id = $1', [companyId])
  expect(ledger.rows[0]).to.include({ revision: count - 1, reacted_revision: count - 1 })
  expect(ledger.rows[0].hash).to.equal(events.at(-1)?.hash ?? GENESIS_HASH)
  return events
}

/** Asserts that every event was processed by reactors exactly once, with the record as of the event. */
async function assertReactors(pool: Pool, companyId: number, events: readonly Envelope[]): Promise<void> {
  const { rows } = await pool.query('select event_id, record from ops.echoes where company_id = $1', [companyId])
  expect(
    rows.map((row) => row.event_id),
    'rows of reactors',
  ).to.have.members(events.map((event) => event.id))
  for (const { recorded_at, id, data } of events) {
    const { record } = rows.find((row) => row.event_id === id)
    expect(record).to.include({ id: (data as { id: number }).id, last: recorded_at, shown_at: recorded_at })
  }
}

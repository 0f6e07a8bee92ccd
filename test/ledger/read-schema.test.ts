import { expect } from 'chai'
import type { Pool } from 'pg'
import { ensureLedger } from '../../src/ledger/ledgers.ts'
import type { ReadModel } from '../../src/ledger/projection.ts'
import { ensureReadModel, rebuildReadModel, versionOf } from '../../src/ledger/read-schema.ts'
import { createPool } from '../../src/postgres/pool.ts'
import { useDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { addition, counterModel } from './counters.ts'
import { empty, type Harness, openHarness } from './writer-harness.ts'

describe('read schema', () => {
  const database = useDatabase()
  let harness: Harness
  let pool: Pool

  beforeEach(async () => {
    harness = await openHarness(database.url, null, [1, 2])
    await empty(harness)
    pool = createPool(database.url, { max: 4, lock_timeout_ms: 100, statement_timeout_ms: 5000 })
  })
  afterEach(() => Promise.all([harness.close(), pool.end()]))

  const newer: ReadModel = { ...counterModel, version: 'newer' }
  const fill = async (): Promise<void> => {
    await Promise.all(
      Array.from({ length: 60 }, (_, n) => harness.writer.run(addition(1 + (n % 2), { id: n % 5, by: 1 }, `key-${n}`))),
    )
  }
  const rows = async (): Promise<unknown[]> =>
    (await harness.pool.query('select counters::text as row from counters order by company_id, id')).rows
  const version = async (): Promise<unknown> => (await harness.pool.query('select version from ops.read_model')).rows
  /** At least `count` statements wait, one of them for longer than any time-out of `pool`. */
  const untilWaiting = (count: number): Promise<unknown> =>
    until(async () => {
      const { rows } = await harness.pool.query(
        `select clock_timestamp() - query_start > interval '200 ms' as long from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rows.length >= count && rows.some(({ long }) => long)
    })

  it('stays as it is while the projections are those that it was made by', async () => {
    expect(await ensureReadModel(pool, harness.store, counterModel)).to.equal(null)
  })

  it('is made anew from the ledgers, byte for byte, by projections of another version', async () => {
    await fill()
    const before = await rows()
    await harness.pool.query('update read.counters set value = 7 where id = 1')
    expect(await ensureReadModel(pool, harness.store, newer)).to.equal(60)
    expect(await rows()).to.deep.equal(before)
    expect(await version()).to.deep.equal([{ version: 'newer' }])
    expect(await ensureReadModel(pool, harness.store, newer)).to.equal(null)
  })

  it('is made anew when it is gone', async () => {
    await fill()
    const before = await rows()
    await harness.pool.query('drop schema read cascade')
    expect(await ensureReadModel(pool, harness.store, counterModel)).to.equal(60)
    expect(await rows()).to.deep.equal(before)
  })

  it('stays as it was when a rebuild fails', async () => {
    await fill()
    const before = await rows()
    const broken: ReadModel = {
      ...newer,
      projections: counterModel.projections.map((projection) => ({
        ...projection,
        on: {
          CounterAdded: {
            refs: () => [],
            apply() {
              throw new Error('a bug in a projection')
            },
          },
        },
      })),
    }
    const failure = await ensureReadModel(pool, harness.store, broken).catch((error: unknown) => error)
    expect(failure).to.include({ message: 'a bug in a projection' })
    expect(await rows()).to.deep.equal(before)
    expect(await version()).to.deep.equal([{ version: counterModel.version }])
  })

  it('is made once by processes that start together, the others waiting for as long as that takes', async () => {
    await fill()
    const first = await harness.pool.connect()
    try {
      await first.query('begin')
      await first.query('select pg_advisory_xact_lock(7106801)')
      const starting = [1, 2].map(() => ensureReadModel(pool, harness.store, newer))
      await untilWaiting(2)
      await first.query('commit')
      expect((await Promise.all(starting)).sort()).to.deep.equal([60, null])
    } finally {
      first.release()
    }
  })

  it('lets nobody add a ledger in the middle, which would be written by older projections', async () => {
    const unit = await harness.pool.connect()
    const patient = createPool(database.url, { max: 3 })
    try {
      await unit.query('begin')
      await unit.query('select from ops.ledgers where company_id = 1 for update')
      const rebuilding = rebuildReadModel(patient, harness.store, newer)
      await untilWaiting(1)
      const adding = ensureLedger(harness.pool, 77).then(version)
      await untilWaiting(2)
      // The unit of work itself is not held up by those that wait for it.
      await unit.query('update ops.ledgers set last_recorded_at = now() where company_id = 1')
      await unit.query('commit')
      expect(await adding, 'when the ledger was added').to.deep.equal([{ version: 'newer' }])
      await rebuilding
    } finally {
      unit.release()
      await patient.end()
    }
  })

  it('has a version that changes with its tables and with the meaning of its projections', () => {
    const [projection] = counterModel.projections as [ReadModel['projections'][number]]
    const [table] = projection.tables as [ReadModel['projections'][number]['tables'][number]]
    const wider = { ...projection, tables: [{ ...table, columns: { ...table.columns, note: 'text' as const } }] }
    const versions = [versionOf([projection], 1), versionOf([projection], 2), versionOf([wider], 1)]
    expect(new Set(versions).size).to.equal(3)
    expect(versionOf([{ ...projection, on: {} }], 1)).to.equal(versions[0])
  })
})

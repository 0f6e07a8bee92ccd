import { expect } from 'chai'
import type { Pool } from 'pg'
import { ensureLedger } from '../../src/ledger/ledgers.ts'
import type { ReadModel } from '../../src/ledger/projection.ts'
import { ensureReadModel, versionOf } from '../../src/ledger/read-schema.ts'
import { rebuild } from '../../src/ledger/rebuild.ts'
import { NEXT_SCHEMA } from '../../src/ledger/schemas.ts'
import { createPool } from '../../src/postgres/pool.ts'
import { useDatabase } from '../support/database.ts'
import { createOutsideStore } from '../support/outside-store.ts'
import { until } from '../support/wait.ts'
import { addition, counterModel } from './counters.ts'
import { assertLedger, empty, type Harness, openHarness } from './writer-harness.ts'

describe('read schema', () => {
  const database = useDatabase()
  let harness: Harness
  let pool: Pool
  let buildPool: Pool

  const connect = async (store: Parameters<typeof openHarness>[1] = null) => {
    harness = await openHarness(database.url, store, [1, 2])
    await empty(harness)
    pool = createPool(database.url, { max: 4 })
    buildPool = createPool(database.url, { max: 6, read_schema: NEXT_SCHEMA, statement_timeout_ms: 0 })
  }
  const disconnect = async () => {
    await harness.close()
    await Promise.all([pool.end(), buildPool.end()])
  }
  beforeEach(() => connect())
  afterEach(disconnect)

  const newer: ReadModel = { ...counterModel, version: 'newer' }
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
  const ensure = (model: ReadModel) => ensureReadModel({ pool, buildPool, store: harness.store, model })
  const again = () => rebuild({ pool, buildPool, store: harness.store, model: counterModel })
  const fill = async (count = 60, from = 0): Promise<void> => {
    await Promise.all(
      Array.from({ length: count }, (_, n) =>
        harness.writer.run(addition(1 + (n % 2), { id: n % 5, by: 1 }, `key-${from + n}`)),
      ),
    )
  }
  const rows = async (): Promise<unknown[]> =>
    (await harness.pool.query('select counters::text as row from counters order by company_id, id')).rows
  const version = async (): Promise<unknown> => (await harness.pool.query('select version from ops.read_model')).rows
  const schemas = async (): Promise<string[]> =>
    (await harness.pool.query(`select nspname from pg_namespace where nspname like 'read%' order by 1`)).rows.map(
      ({ nspname }) => nspname,
    )
  /** At least `count` statements wait. */
  const untilWaiting = (count: number): Promise<unknown> =>
    until(async () => {
      const waiting = await harness.pool.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return (waiting.rowCount ?? 0) >= count
    })

  it('stays as it is while the projections are those that it was made by', async () => {
    expect(await ensure(counterModel)).to.equal(null)
  })

  it('is made anew from the ledgers, byte for byte, by projections of another version', async () => {
    await fill()
    const before = await rows()
    await harness.pool.query('update read.counters set value = 7 where id = 1')
    expect(await ensure(newer)).to.deep.equal({ events: 60, companies: 2, parity: null })
    expect(await rows()).to.deep.equal(before)
    expect(await version()).to.deep.equal([{ version: 'newer' }])
    expect(await ensure(newer)).to.equal(null)
    expect(await schemas()).to.deep.equal(['read'])
  })

  it('is made anew when it is gone', async () => {
    await fill()
    const before = await rows()
    await harness.pool.query('drop schema read cascade')
    expect(await ensure(counterModel)).to.include({ events: 60, parity: null })
    expect(await rows()).to.deep.equal(before)
  })

  it('is compared with what it was: equal, or not', async () => {
    await fill()
    const [equal] = (await again()).parity ?? []
    expect(equal).to.deep.include({ table: 'counters', equal: true })
    expect(equal?.live).to.deep.equal(equal?.rebuilt).and.include({ rows: 10 })
    await harness.pool.query('update read.counters set value = value + 1 where company_id = 1 and id = 0')
    const [unequal] = (await again()).parity ?? []
    expect(unequal).to.include({ equal: false })
    expect(unequal?.live.rows).to.equal(10)
    const [healed] = (await again()).parity ?? []
    expect(healed).to.include({ equal: true })
  })

  it('stays as it was when a rebuild fails, and the next one clears up behind it', async () => {
    await fill()
    const before = await rows()
    const failure = await ensure(broken).catch((error: unknown) => error)
    expect(failure).to.include({ message: 'a bug in a projection' })
    expect(await rows()).to.deep.equal(before)
    expect(await version()).to.deep.equal([{ version: counterModel.version }])
    await fill(4, 100)
    expect(await ensure(newer)).to.include({ events: 64 })
    expect(await schemas()).to.deep.equal(['read'])
  })

  it('is rebuilt while the service reads and writes, which neither fails nor loses anything', async () => {
    await fill()
    let running = true
    let written = 60
    const write = async () => {
      for (; running; written += 8) await fill(8, 1000 + written)
    }
    const seen: number[] = []
    const read = async () => {
      while (running) {
        const { rows: sums } = await pool.query({ name: 'sum', text: 'select sum(value)::int as value from counters' })
        seen.push(sums[0].value)
      }
    }
    const working = Promise.all([write(), read(), read()])
    for (let round = 0; round < 4; round++) {
      const { parity } = await again()
      expect(parity?.map(({ equal }) => equal)).to.deep.equal([true])
    }
    running = false
    await working
    await Promise.all([1, 2].map((company) => assertLedger(harness, company, written / 2)))
    expect(seen.length).to.be.above(4)
    const [last] = (await again()).parity ?? []
    expect(last).to.include({ equal: true })
  })

  it('is made once by processes that start together, the others waiting for as long as that takes', async () => {
    await fill()
    const unit = await harness.pool.connect()
    try {
      await unit.query('begin')
      await unit.query('select from ops.ledgers where company_id = 1 for update')
      const starting = [1, 2].map(() => ensure(newer))
      await untilWaiting(2)
      // The unit of work itself is not held up by those that wait for it, and reads the tables until it is done.
      const { rowCount } = await unit.query('select from read.counters')
      await unit.query('commit')
      expect(rowCount).to.equal(10)
      const reports = await Promise.all(starting)
      expect(reports.map((report) => report?.events).sort()).to.deep.equal([60, undefined])
    } finally {
      unit.release()
    }
  })

  it('lets nobody add a ledger in the middle, which would be written by older projections', async () => {
    const unit = await harness.pool.connect()
    try {
      await unit.query('begin')
      await unit.query('select from ops.ledgers where company_id = 1 for update')
      const rebuilding = ensure(newer)
      await untilWaiting(1)
      const adding = ensureLedger(harness.pool, 77).then(version)
      await untilWaiting(2)
      await unit.query('commit')
      expect(await adding, 'when the ledger was added').to.deep.equal([{ version: 'newer' }])
      await rebuilding
    } finally {
      unit.release()
    }
  })

  it('is made from a store outside by a Postgres that knows nothing, which reacts to none of it', async () => {
    await disconnect()
    const store = createOutsideStore()
    await connect(store)
    await fill()
    const before = await rows()
    await harness.pool.query('drop schema read cascade')
    await harness.pool.query('truncate ops.ledgers, ops.read_model, ops.echoes, ops.idempotent_answers')
    expect(await ensure(counterModel)).to.include({ events: 60, companies: 2 })
    expect(await rows()).to.deep.equal(before)
    const echoes = await harness.pool.query('select from ops.echoes')
    expect(echoes.rowCount).to.equal(0)
    const ledgers = await harness.pool.query('select revision, reacted_revision from ops.ledgers order by company_id')
    expect(ledgers.rows).to.deep.equal(Array(2).fill({ revision: 29, reacted_revision: 29 }))
    await fill(2, 500)
    expect(store.events('company-1')).to.have.length(31)
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

import { expect } from 'chai'
import type { Pool } from 'pg'
import { ensureLedger } from '#ledger/ledgers.ts'
import { type ReadModel, versionOf } from '#ledger/projection.ts'
import { ensureReadModel } from '#ledger/rebuild/rebuild.ts'
import { purgeFormer, readSchemasOf } from '#ledger/rebuild/version.ts'
import { IncompatibleVersion } from '#lib/errors.ts'
import { createPool } from '#postgres/pool.ts'
import { useDatabase } from '../support/database.ts'
import { keysIn } from '../support/master-key.ts'
import { createOutsideStore } from '../support/outside-store.ts'
import { until } from '../support/wait.ts'
import { counterModel } from './counters.ts'
import { newer, openReadTables, type ReadTables } from './read-tables.ts'

describe('read schema', () => {
  const database = useDatabase()
  let given: ReadTables
  beforeEach(async () => {
    given = await openReadTables(database.url)
  })
  afterEach(() => given.close())

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
  const ensure = (model: ReadModel, buildPool = given.buildPool) => {
    const { pool, harness } = given
    return ensureReadModel({ pool, buildPool, store: harness.store, keys: keysIn(pool), model })
  }
  /** At least `count` statements wait. */
  const untilWaiting = (count: number): Promise<unknown> =>
    until(async () => {
      const waiting = await given.harness.pool.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return (waiting.rowCount ?? 0) >= count
    })

  it('is kept while the version of the projections is unchanged', async () => {
    expect(await ensure(counterModel)).to.equal(null)
  })

  it('is rebuilt from the ledgers, byte for byte, by projections of another version [OPS-12]', async () => {
    await given.fill()
    const before = await given.rows()
    await given.harness.pool.query('update read.counters set value = 7 where id = 1')
    expect(await ensure(newer)).to.deep.equal({ events: 60, companies: 2, parity: null })
    expect(await given.rows()).to.deep.equal(before)
    expect(await given.version()).to.deep.equal([{ version: 'newer' }])
    expect(await ensure(newer)).to.equal(null)
    expect(await given.schemas()).to.deep.equal(['read', 'read_1'])
  })

  it('is refused by an older program, which changes nothing [OPS-37]', async () => {
    await given.fill()
    await ensure(newer)
    const failure = await ensure(counterModel).catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(IncompatibleVersion)
    expect(String(failure)).to.include('a newer version of this program (number 2, and this one makes 1)')
    expect(await given.version()).to.deep.equal([{ version: 'newer' }])
    expect(await given.schemas()).to.deep.equal(['read', 'read_1'])
  })

  it('stays available to older processes until their tables are emptied [OPS-37]', async () => {
    await given.fill()
    const older = createPool(database.url, { max: 1, read_schemas: readSchemasOf(counterModel) })
    const sum = async () =>
      (await older.query({ name: 'sum', text: 'select sum(value)::int from counters' })).rows[0].sum
    expect(await sum()).to.equal(60)
    await ensure(newer)
    await given.harness.pool.query('update read.counters set value = 100')
    expect(await sum(), 'as it was').to.equal(60)
    expect(await purgeFormer(given.pool), 'not yet').to.equal(0)
    await given.harness.pool.query(`update ops.read_model set since = since - interval '11 minutes'`)
    expect(await purgeFormer(given.pool)).to.equal(1)
    expect(await purgeFormer(given.pool)).to.equal(0)
    const failure = await sum().catch((error: unknown) => error)
    await older.end()
    expect(failure, 'rather than what it does not understand').to.match(/"value" does not exist/)
  })

  it('is rebuilt if it is missing [OPS-12]', async () => {
    await given.fill()
    const before = await given.rows()
    await given.harness.pool.query('drop schema read cascade')
    expect(await ensure(counterModel)).to.include({ events: 60, parity: null })
    expect(await given.rows()).to.deep.equal(before)
  })

  it('stays unchanged if a rebuild fails, and the next rebuild cleans up [LEDGER-11]', async () => {
    await given.fill()
    const before = await given.rows()
    const failure = await ensure(broken).catch((error: unknown) => error)
    expect(failure).to.include({ message: 'a bug in a projection' })
    expect(await given.rows()).to.deep.equal(before)
    expect(await given.version()).to.deep.equal([{ version: counterModel.version }])
    await given.fill(4, 100)
    expect(await ensure(newer)).to.include({ events: 64 })
    expect(await given.schemas()).to.deep.equal(['read', 'read_1'])
  })

  it('is built once by processes that start together; the others wait for it [OPS-12]', async () => {
    await given.fill()
    const unit = await given.harness.pool.connect()
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

  /** A pool for `ensure` that stops a switch once it holds its locks, until `go` is called. */
  function stopSwitch(pool: Pool) {
    let reach = () => {}
    let go = () => {}
    const reached = new Promise<void>((resolve) => {
      reach = resolve
    })
    const gate = new Promise<void>((resolve) => {
      go = resolve
    })
    async function connect() {
      const client = await pool.connect()
      const query: (...statement: unknown[]) => Promise<unknown> = client.query.bind(client)
      const held = async (...statement: unknown[]) => {
        if (String(statement[0]).startsWith('begin isolation level')) {
          reach()
          await gate
        }
        return query(...statement)
      }
      return Object.assign(client, { query: held })
    }
    const stopping: Pool = Object.create(pool, { connect: { value: connect }, query: { value: pool.query.bind(pool) } })
    return { pool: stopping, reached, go }
  }

  it('blocks new ledgers during the switch, because older projections would write them [LEDGER-12]', async () => {
    const { pool, reached, go } = stopSwitch(given.buildPool)
    const rebuilding = ensure(newer, pool)
    await reached
    const adding = ensureLedger(given.harness.pool, 77).then(given.version)
    await untilWaiting(1)
    go()
    expect(await adding, 'when the ledger was added').to.deep.equal([{ version: 'newer' }])
    await rebuilding
  })

  it('is built from an outside store with an empty Postgres, without side effects', async () => {
    await given.close()
    const store = createOutsideStore()
    given = await openReadTables(database.url, store)
    await given.fill()
    const before = await given.rows()
    await given.harness.pool.query('drop schema read cascade')
    await given.harness.pool.query(
      'delete from ops.ledgers; delete from ops.read_model; delete from ops.echoes; delete from ops.idempotent_answers',
    )
    expect(await ensure(counterModel)).to.include({ events: 60, companies: 2 })
    expect(await given.rows()).to.deep.equal(before)
    const echoes = await given.harness.pool.query('select from ops.echoes')
    expect(echoes.rowCount).to.equal(0)
    const ledgers = await given.harness.pool.query(
      'select revision, reacted_revision from ops.ledgers order by company_id',
    )
    expect(ledgers.rows).to.deep.equal(Array(2).fill({ revision: 29, reacted_revision: 29 }))
    await given.fill(2, 500)
    expect(store.events('company-1')).to.have.length(31)
  })

  it('has a version that changes with its tables and with the logic of its projections', () => {
    const [projection] = counterModel.projections as [ReadModel['projections'][number]]
    const [table] = projection.tables as [ReadModel['projections'][number]['tables'][number]]
    const wider = { ...projection, tables: [{ ...table, columns: { ...table.columns, note: 'text' as const } }] }
    const versions = [versionOf([projection], 1), versionOf([projection], 2), versionOf([wider], 1)]
    expect(new Set(versions).size).to.equal(3)
    expect(versionOf([{ ...projection, on: {} }], 1)).to.equal(versions[0])
  })
})

import { expect } from 'chai'
import type { Pool } from 'pg'
import { ensureLedger } from '#ledger/ledgers.ts'
import type { EventStore } from '#ledger/port.ts'
import { hashModelVersion, type ReadModel } from '#ledger/projection.ts'
import { ensureReadModel, REBUILD_LOCK, type VerifyTablesOptions, verifyTables } from '#ledger/rebuild/rebuild.ts'
import { listReadSchemas, purgeFormer } from '#ledger/rebuild/version.ts'
import { loadStatement } from '#ledger/table.ts'
import { writeRequest } from '#ledger/write/writer.ts'
import { IncompatibleVersion } from '#lib/errors.ts'
import { createPool } from '#postgres/pool.ts'
import { catalogItems } from '#projections/catalog.ts'
import { useDatabase } from '../support/database.ts'
import { keysIn } from '../support/master-key.ts'
import { createOutsideStore } from '../support/outside-store.ts'
import { OWN_DATABASE, useCompany } from '../support/use-api.ts'
import { until } from '../support/wait.ts'
import { addition, counterModel } from './counters.ts'
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
  /** Waits until at least `count` statements are blocked. */
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
    const older = createPool(database.url, { max: 1, read_schemas: listReadSchemas(counterModel) })
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
      // The unit of work itself is not blocked by waiting ones, and reads the tables until it ends.
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
    const versions = [
      hashModelVersion([projection], 1),
      hashModelVersion([projection], 2),
      hashModelVersion([wider], 1),
    ]
    expect(new Set(versions).size).to.equal(3)
    expect(hashModelVersion([{ ...projection, on: {} }], 1)).to.equal(versions[0])
  })
})

interface PlanNode {
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Join Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

/** As src/postgres/pool.ts sets them for connections that look rows up by their keys. */
const WRITERS_SETTINGS = `set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set enable_hashjoin = off;
  set enable_mergejoin = off; set enable_bitmapscan = off`

const ITEMS = 1_000

/** The most rows that a node of a plan handled. */
const mostRows = (node: PlanNode): number =>
  Math.max(
    node['Actual Loops'] *
      (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0)),
    ...(node.Plans ?? []).map(mostRows),
  )

describe('loading of rows by key', () => {
  const { api, company } = useCompany(OWN_DATABASE)

  it('reads no more than the items of the company for each key, with a plan made for empty tables', async () => {
    const client = await api.core.pool.connect()
    try {
      await client.query(WRITERS_SETTINGS)
      const { text } = loadStatement(catalogItems, 'external')
      await client.query(`prepare load_items (bigint[], text[]) as ${text}`)
      const execute = async (keys: readonly string[]) => {
        const [companies, values] = [keys.map(() => company.id), keys].map((list) => `'{${list.join(',')}}'`)
        const { rows } = await client.query(
          `explain (analyze, format json) execute load_items (${companies}, ${values})`,
        )
        return rows[0]['QUERY PLAN'][0].Plan as PlanNode
      }
      await execute(['x'])
      for (let from = 0; from < ITEMS; from += 500) {
        const items = Array.from({ length: 500 }, (_, n) => ({
          name: `Item ${from + n}`,
          price: '1.00',
          external_id: `x-${from + n}`,
        }))
        expect((await company.post('/catalog/items/batch', { items })).status).to.equal(200)
      }
      const keys = Array.from({ length: 500 }, (_, n) => `x-${n}`)
      const plan = await execute(keys)
      expect(mostRows(plan)).to.be.at.most(keys.length * ITEMS)
    } finally {
      client.release(true)
    }
  })
})

describe('verification of tables', () => {
  const database = useDatabase()
  let given: ReadTables
  let pool: Pool
  beforeEach(async () => {
    given = await openReadTables(database.url)
    pool = createPool(database.url, { max: 4, pipeline: true, statement_timeout_ms: 0 })
    await given.fill()
  })
  afterEach(async () => {
    await pool.end()
    await given.close()
  })

  const verify = (companyId = 1, options: Partial<VerifyTablesOptions> = {}) =>
    verifyTables({ pool, store: given.harness.store, keys: keysIn(pool), model: counterModel, ...options }, companyId)
  const change = (text: string) => given.harness.pool.query(text)

  it('finds no difference if the tables match the ledger, also for an empty or missing ledger [OPS-45]', async () => {
    expect(await verify()).to.deep.equal({ kind: 'verified', revision: 29, differences: [] })
    await change(`insert into ops.ledgers (company_id, hash) values (7, 'x')`)
    for (const id of [7, 8]) expect(await verify(id)).to.deep.equal({ kind: 'verified', revision: -1, differences: [] })
  })

  it('reports table, key and fields of each row that differs from the ledger, but no values [OPS-45]', async () => {
    const changed = (fields: string[], id = 0) => [{ table: 'counters', key: { id }, found: 'changed', fields }]
    for (const [text, differences] of [
      ['update read.counters set value = value + 1 where company_id = 1 and id = 0', changed(['value'])],
      ['update read.counters set value = null where company_id = 1 and id = 0', changed(['value'])],
      [`update read.counters set doc = (doc::text || ' ')::json where company_id = 1 and id = 0`, changed(['doc'])],
      ['update read.counters set doc = null where company_id = 1 and id = 0', changed(['doc'])],
      [
        `update read.counters set doc = jsonb_set(doc::jsonb, '{value}', '99') where company_id = 1 and id = 2`,
        changed(['doc.value'], 2),
      ],
      [
        'delete from read.counters where company_id = 1 and id = 2',
        [{ table: 'counters', key: { id: 2 }, found: 'missing', fields: [] }],
      ],
      [
        `insert into read.counters values (1, 99, 1, '{}')`,
        [{ table: 'counters', key: { id: 99 }, found: 'unknown', fields: [] }],
      ],
    ] as const) {
      await change('create table read.kept as select * from read.counters')
      await change(text)
      expect(await verify(), text).to.deep.equal({ kind: 'verified', revision: 29, differences })
      expect(await verify(2), text).to.deep.include({ differences: [] })
      await change('truncate read.counters')
      await change('insert into read.counters select * from read.kept')
      await change('drop table read.kept')
    }
    expect(await verify()).to.deep.include({ differences: [] })
  })

  it('compares as of one revision, batch by batch, while the company keeps writing [OPS-45]', async () => {
    let portions = 0
    const pace = async () => {
      portions += 1
      await given.fill(40, 1_000 * portions)
    }
    // Also between the last read of the ledger and the snapshot.
    const store: EventStore = {
      ...given.harness.store,
      async *read(stream, from) {
        if (from > 0) await writeRequest(given.harness.writer, addition(1, { id: 9, by: 1 }))
        yield* given.harness.store.read(stream, from)
      },
    }
    const found = await verify(1, { pace, store })
    expect(found).to.deep.include({ kind: 'verified', differences: [] })
    expect(found).to.have.property('revision').that.is.at.least(49)
    expect(portions).to.equal(1)
  })

  it('skips tables of another version and tables under rebuild [OPS-45]', async () => {
    expect(await verify(1, { model: newer })).to.deep.equal({ kind: 'other_version' })
    const rebuilder = await given.pool.connect()
    await rebuilder.query('select pg_advisory_lock(hashtextextended($1, 0))', [REBUILD_LOCK])
    expect(await verify()).to.deep.equal({ kind: 'busy' })
    rebuilder.release(true)
  })

  it('holds no locks while it waits, and leaves other companies to other processes [OPS-46]', async () => {
    let inner: unknown
    let held: unknown
    const pace = async () => {
      inner = await verify(2)
      held = (
        await change(`select xact_start from pg_stat_activity
          where datname = current_database() and pid in (select pid from pg_locks where locktype = 'advisory')`)
      ).rows
    }
    expect(await verify(1, { pace })).to.deep.include({ kind: 'verified' })
    expect(inner).to.deep.include({ kind: 'verified' })
    expect(held).to.deep.equal([])
  })

  it('fails if the ledger ends before the tables', async () => {
    await change('update ops.ledgers set revision = 99 where company_id = 1')
    expect(await verify().catch(({ message }: Error) => message)).to.equal(
      'the ledger of company 1 ends before its tables do',
    )
  })
})

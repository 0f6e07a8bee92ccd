import { expect } from 'chai'
import type { Pool } from 'pg'
import type { EventStore } from '#ledger/port.ts'
import { REBUILD_LOCK } from '#ledger/rebuild/rebuild.ts'
import { type VerifyTablesOptions, verifyTables } from '#ledger/rebuild/verify-tables.ts'
import { writeRequest } from '#ledger/write/writer.ts'
import { createPool } from '#postgres/pool.ts'
import { useDatabase } from '../support/database.ts'
import { keysIn } from '../support/master-key.ts'
import { addition, counterModel } from './counters.ts'
import { newer, openReadTables, type ReadTables } from './read-tables.ts'

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

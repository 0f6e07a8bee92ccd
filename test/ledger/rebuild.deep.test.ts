import { expect } from 'chai'
import { ensureLedger } from '#ledger/ledgers.ts'
import type { EventStore } from '#ledger/port.ts'
import type { ReadModel } from '#ledger/projection.ts'
import { NEXT_SCHEMA, type RebuildOptions } from '#ledger/rebuild/build.ts'
import { rebuild } from '#ledger/rebuild/rebuild.ts'
import { writeRequest } from '#ledger/write/writer.ts'
import { createPool } from '#postgres/pool.ts'
import { useDatabase } from '../support/database.ts'
import { keysIn } from '../support/master-key.ts'
import { until } from '../support/wait.ts'
import { addition, additions, counterModel } from './counters.ts'
import { BUILDER, newer, openReadTables, type ReadTables } from './read-tables.ts'
import { assertLedger } from './writer-harness.ts'

describe('rebuild', () => {
  const database = useDatabase()
  let given: ReadTables
  beforeEach(async () => {
    given = await openReadTables(database.url)
  })
  afterEach(() => given.close())

  const build = (model: ReadModel, store = given.harness.store, more: Pick<RebuildOptions, 'pace'> = {}) =>
    rebuild({ pool: given.pool, buildPool: given.buildPool, store, keys: keysIn(given.pool), model, ...more })
  const again = () => build(counterModel)

  /** Store that calls `meanwhile` once, after some events of a ledger were read. */
  const storeWith = (meanwhile: () => Promise<unknown>): EventStore => {
    let isDone = false
    return {
      ...given.harness.store,
      async *read(stream, from) {
        for await (const event of given.harness.store.read(stream, from)) {
          if (event.revision === 20 && !isDone) {
            isDone = true
            await meanwhile()
          }
          yield event
        }
      },
    }
  }

  it('compares the new tables with the old ones, and reports whether they are equal', async () => {
    await given.fill()
    const [equal] = (await again()).parity ?? []
    expect(equal).to.deep.include({ table: 'counters', equal: true })
    expect(equal?.live).to.deep.equal(equal?.rebuilt).and.include({ rows: 10 })
    for (const [change, rows] of [
      ['update read.counters set value = value + 1 where company_id = 1 and id = 0', 10],
      [`update read.counters set doc = (doc::text || ' ')::json where company_id = 1 and id = 0`, 10],
      ['update read.counters set doc = null where company_id = 1 and id = 0', 10],
      ['update read.counters set value = null where company_id = 1 and id = 0', 10],
      ['update read.counters set id = 99 where company_id = 1 and id = 0', 10],
      ['delete from read.counters where company_id = 1 and id = 0', 9],
    ] as const) {
      await given.harness.pool.query(change)
      const [unequal] = (await again()).parity ?? []
      expect(unequal?.equal, change).to.equal(false)
      expect(unequal?.live.rows).to.equal(rows)
    }
    const [healed] = (await again()).parity ?? []
    expect(healed).to.deep.equal(equal)
  })

  it('includes a company registered and events written during the rebuild [LEDGER-11]', async () => {
    await given.fill()
    const store = storeWith(async () => {
      await ensureLedger(given.harness.pool, 3)
      await writeRequest(given.harness.writer, addition(3, { id: 1, by: 5 }))
      await given.fill(4, 100)
    })
    const { events, companies, parity } = await build(counterModel, store)
    expect({ events, companies }).to.deep.equal({ events: 65, companies: 3 })
    expect(parity?.map(({ equal }) => equal)).to.deep.equal([true])
    const { rows: sums } = await given.harness.pool.query('select value from read.counters where company_id = 3')
    expect(sums).to.deep.equal([{ value: 5 }])
  })

  it('leaves the tables unchanged if it loses its connections; the next run rebuilds them [LEDGER-11]', async () => {
    await given.fill()
    const before = await given.rows()
    const store = storeWith(() =>
      given.harness.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = $1`,
        [BUILDER],
      ),
    )
    const failure = await build(newer, store).catch((error: unknown) => error)
    expect(failure).to.be.an('error')
    expect(await given.rows()).to.deep.equal(before)
    expect(await given.version()).to.deep.equal([{ version: counterModel.version }])
    // The pool may still hand out a lost connection until it has noticed the loss.
    let next: Awaited<ReturnType<typeof again>> | null = null
    await until(
      async () => {
        next = await again().catch(() => null)
        return next !== null
      },
      { what: 'a rebuild on connections that live' },
    )
    const { events, parity } = next as unknown as Awaited<ReturnType<typeof again>>
    expect({ events, equal: parity?.map(({ equal }) => equal) }).to.deep.equal({ events: 60, equal: [true] })
    expect(await given.schemas()).to.deep.equal(['read'])
  })

  it('continues a killed run by company, and starts anew if a ledger was restored [OPS-943]', async () => {
    await given.fill()
    const { pool } = given.harness
    const before = await given.rows()
    /** Kills the rebuild when the second ledger is read. */
    const killed = () => {
      const read: string[] = []
      const store: EventStore = {
        ...given.harness.store,
        async *read(stream, from) {
          read.push(stream)
          if (read.length === 2)
            await pool.query(
              `select pg_terminate_backend(pid) from pg_stat_activity
               where datname = current_database() and application_name = $1`,
              [BUILDER],
            )
          yield* given.harness.store.read(stream, from)
        },
      }
      return { read, store }
    }
    const run = async (store: EventStore) => {
      const buildPool = createPool(database.url, { max: 4, read_schemas: [NEXT_SCHEMA], application_name: BUILDER })
      const options = { pool: given.pool, buildPool, store, keys: keysIn(given.pool), model: newer, parallel: 1 }
      return rebuild(options)
        .catch(() => null)
        .finally(() => buildPool.end())
    }
    expect(await run(killed().store)).to.equal(null)
    expect(await given.rows(), 'former tables serve').to.deep.equal(before)
    await given.fill(2, 500)
    // Events of the first company that is built already, and all of the other.
    const { events, companies } = (await run(given.harness.store)) ?? {}
    expect({ events, companies }).to.deep.equal({ events: 32, companies: 2 })
    expect(await given.version()).to.deep.equal([{ version: 'newer' }])
    expect(await given.schemas())
      .to.include('read')
      .and.not.include(NEXT_SCHEMA)
    expect(await run(killed().store)).to.equal(null)
    await pool.query('update read_next.built_companies set revision = revision + 9')
    expect(await run(given.harness.store)).to.deep.include({ events: 62, companies: 2 })
  })

  it('tells beforehand how long it takes, if more than a minute [OPS-943]', async () => {
    await given.fill()
    const told: string[] = []
    const { harness, pool, buildPool } = given
    const options = {
      pool,
      buildPool,
      store: harness.store,
      keys: keysIn(pool),
      tell: (line: string) => told.push(line),
    }
    await rebuild({ ...options, model: counterModel })
    expect(told).to.deep.equal([])
    await harness.pool.query('update ops.ledgers set revision = 2999969 where company_id = 1')
    await rebuild({ ...options, model: newer })
    expect(told).to.deep.equal([
      'all tables are made anew from 3000000 events: some 3 minutes, while the former ones serve',
    ])
  })

  it('handles ledgers far longer than the memory limit', async () => {
    const inputs = Array.from({ length: 500 }, (_, n) => n)
    for (let start = 0; start < 9_500; start += inputs.length) {
      await writeRequest(
        given.harness.writer,
        additions(
          1,
          inputs.map((n) => ({ id: (start + n) % 3_001, by: 1 })),
        ),
      )
    }
    const before = await given.rows()
    const { events, parity } = await again()
    expect(events).to.equal(9_500)
    expect(parity?.map(({ equal, rebuilt }) => [equal, rebuilt.rows])).to.deep.equal([[true, 3_001]])
    expect(await given.rows()).to.deep.equal(before)
  })

  it('fills missing tables, and resumes a killed run company by company [OPS-920]', async () => {
    await given.fill()
    const { pool } = given.harness
    const ledgers = async () =>
      (
        await pool.query(
          'select company_id, revision, reacted_revision, hash, last_recorded_at, ids from ops.ledgers where revision >= 0 order by 1',
        )
      ).rows
    const before = [await given.rows(), await ledgers()]
    await pool.query('drop schema read cascade; delete from ops.read_model; delete from ops.ledgers')
    const read: string[] = []
    const killed: EventStore = {
      ...given.harness.store,
      async *read(stream, from) {
        read.push(stream)
        if (read.length === 2)
          await pool.query(
            `select pg_terminate_backend(pid) from pg_stat_activity
             where datname = current_database() and application_name = $1`,
            [BUILDER],
          )
        yield* given.harness.store.read(stream, from)
      },
    }
    const buildPool = createPool(database.url, { max: 3, read_schemas: [NEXT_SCHEMA], application_name: BUILDER })
    const first = {
      pool: given.pool,
      buildPool,
      store: killed,
      keys: keysIn(given.pool),
      model: counterModel,
      parallel: 1,
    }
    expect(await rebuild(first).catch((error: unknown) => error)).to.be.an('error')
    await buildPool.end()
    expect(await given.version()).to.deep.equal([])
    // State of a run that ended after the indexes.
    await pool.query('create index on read_next.counters (value)')
    const [done, half] = read.splice(0)
    const { events, companies } = await build(counterModel, killed)
    expect({ read, companies, events: events > 0 }).to.deep.equal({ read: [half], companies: 2, events: true })
    expect(done).to.not.equal(half)
    expect([await given.rows(), await ledgers()]).to.deep.equal(before)
    expect(await given.schemas()).to.deep.equal(['read'])
    const { rows: indexes } = await pool.query(
      `select from pg_indexes where schemaname = 'read' and tablename = 'counters'`,
    )
    expect(indexes).to.have.length(1)
  })

  it('creates all indexes and statistics, so that queries are not planned as for empty tables', async () => {
    await given.fill()
    const [{ tables, ...projection }] = counterModel.projections as [ReadModel['projections'][number]]
    const indexed = { ...projection, tables: tables.map((table) => ({ ...table, indexes: ['(company_id, value)'] })) }
    await build({ ...newer, projections: [indexed] })
    const { rows: definitions } = await given.harness.pool.query<{ definition: string }>(
      `select indexdef as definition from pg_indexes where schemaname = 'read' and tablename = 'counters' order by 1`,
    )
    expect(definitions.map(({ definition }) => definition.replace(/^.* USING /, ''))).to.deep.equal([
      'btree (company_id, value)',
      'btree (company_id, id)',
    ])
    const { rows: statistics } = await given.harness.pool.query(
      `select attname as column from pg_stats where schemaname = 'read' and tablename = 'counters' and attname = 'value'`,
    )
    expect(statistics).to.have.length(1)
  })

  it('runs while the service reads and writes, without failures or losses [LEDGER-11]', async () => {
    await given.fill()
    let running = true
    let written = 60
    const write = async () => {
      for (; running; written += 8) await given.fill(8, 1000 + written)
    }
    const seen: number[] = []
    const read = async () => {
      while (running) {
        const { rows: sums } = await given.pool.query({
          name: 'sum',
          text: 'select sum(value)::int as value from counters',
        })
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
    await Promise.all([1, 2].map((company) => assertLedger(given.harness, company, written / 2)))
    expect(seen.length).to.be.above(4)
    const [last] = (await again()).parity ?? []
    expect(last).to.include({ equal: true })
  })

  it('pauses between batches if it is throttled, but never while writers wait [OPS-115]', async () => {
    await given.fill()
    let written = 0
    const pace = async (spent_ms: number) => {
      expect(spent_ms).to.be.above(0)
      await given.fill(2, 2_000 + 2 * written++)
    }
    const { parity } = await build(counterModel, given.harness.store, { pace })
    expect(parity?.map(({ equal }) => equal)).to.deep.equal([true])
    // Two companies, the indexes, and writes during the rebuild.
    expect(written).to.be.above(3)
  })

  it('waits for long readers before the switch, and names their sessions [OPS-36]', async () => {
    await given.fill()
    const told: string[] = []
    const dump = await given.pool.connect()
    await dump.query(`set application_name = 'pg_dump'; begin; lock table read.counters in access share mode`)
    const { harness, pool, buildPool } = given
    const keys = keysIn(pool)
    const tell = (line: string) => told.push(line)
    const building = rebuild({ pool, buildPool, store: harness.store, keys, model: newer, tell })
    const waits_ms: number[] = []
    for (let n = 0; told.length < 3; n++) {
      const began = performance.now()
      await Promise.all([given.fill(1, 5000 + n), pool.query('select sum(value) from counters')])
      waits_ms.push(performance.now() - began)
    }
    expect(told[0]).to.match(
      /the switch to the new tables waits for process \d+ .pg_dump, idle in transaction, query of 20/,
    )
    // The dump holds its lock for ever: a call behind the switch in the queue of locks would not return.
    expect(Math.max(...waits_ms)).to.be.below(2_000)
    await dump.query('commit; reset application_name')
    dump.release()
    expect(await building).to.include({ companies: 2 })
    expect(await given.version()).to.deep.equal([{ version: 'newer' }])
  })
})

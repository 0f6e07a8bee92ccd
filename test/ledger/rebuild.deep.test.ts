import { expect } from 'chai'
import { parseCommandLine } from '#cli/arguments.ts'
import { load } from '#cli/perform.ts'
import { Refused } from '#cli/verb.ts'
import { createCustomer } from '#commands/person-commands.ts'
import { ensureLedger } from '#ledger/ledgers.ts'
import type { EventStore } from '#ledger/port.ts'
import type { ReadModel } from '#ledger/projection.ts'
import { NEXT_SCHEMA, type RebuildOptions } from '#ledger/rebuild/build.ts'
import { rebuild } from '#ledger/rebuild/rebuild.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { writeRequest } from '#ledger/write/writer.ts'
import { createPool } from '#postgres/pool.ts'
import { readModel } from '#projections/index.ts'
import type { Core, CoreOptions } from '#service/core.ts'
import { type Json, type Reply, send, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { contextOf } from '../support/context.ts'
import { cloneDatabase, useDatabase } from '../support/database.ts'
import { keysIn } from '../support/master-key.ts'
import { createOutsideStore } from '../support/outside-store.ts'
import { addKeys, loseKeys } from '../support/person-keys.ts'
import { administer, onDatabase } from '../support/server.ts'
import { openTestCore } from '../support/test-core.ts'
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

  /** A store that kills the rebuild when the second ledger is read. */
  const killed = () => {
    const { pool, store } = given.harness
    const read: string[] = []
    async function* readOnce(...[stream, from]: Parameters<EventStore['read']>) {
      read.push(stream)
      if (read.length === 2)
        await pool.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and application_name = $1`,
          [BUILDER],
        )
      yield* store.read(stream, from)
    }
    return { read, store: { ...store, read: readOnce } as EventStore }
  }

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
    expect(told).to.deep.equal(['rebuild: 3000000 events, about 3 minutes; the former tables serve meanwhile'])
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
    const { read, store } = killed()
    const buildPool = createPool(database.url, { max: 3, read_schemas: [NEXT_SCHEMA], application_name: BUILDER })
    const first = {
      pool: given.pool,
      buildPool,
      store,
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
    const { events, companies } = await build(counterModel, store)
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

/** Requests of a company to a service started after its registration. */
const callTo =
  (url: string, { key }: TestCompany) =>
  (method: string, path: string, body?: unknown): Promise<Reply> =>
    send(`${url}/api/v1${path}`, method, body, { authorization: `Bearer ${key}` })

function expectReadOnly(reply: Reply): void {
  expect(reply.status, reply.text).to.equal(503)
  expect(reply.headers.get('retry-after')).to.equal('60')
  expect(reply.body.error).to.include({ code: 'unavailable' })
  expect(reply.body.error.details).to.deep.equal({ reason: 'keys_missing' })
}

const namesOf = async (call: ReturnType<typeof callTo>): Promise<(string | null)[]> =>
  (await call('GET', '/customers')).body.data.map(({ name }: Json) => name)

/** Runs the verb like the command line. */
async function lostKeys(core: Core, ...words: string[]): Promise<Json> {
  const { name, values } = parseCommandLine(['person', 'lost-keys', ...words])
  const verb = await load(name)
  return verb.run(contextOf(core), values as Parameters<typeof verb.run>[1])
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  )
}

describe('missing keys of persons during catch-up with a store outside Postgres', () => {
  const database = useDatabase('withoutReadModel')
  let backup: string
  let store: EventStore
  let losing: TestCompany
  let other: TestCompany
  let api: TestApi
  let logged: string[]

  /** A Postgres from before the last events of two companies, with the later keys of only one of them. */
  before(async function () {
    this.timeout(120_000)
    store = createOutsideStore()
    backup = `${new URL(database.url).pathname.slice(1)}_backup`
    const first = await startApi(database.url, { store })
    losing = await first.company()
    other = await first.company()
    for (const company of [losing, other]) await company.run(createCustomer, { name: 'Ana' })
    await first.close()
    await cloneDatabase(backup, new URL(database.url).pathname.slice(1))
    const second = await startApi(database.url, { store })
    for (const company of [losing, other]) {
      const call = callTo(second.url, company)
      for (const name of ['Bia', 'Caio']) expect((await call('POST', '/customers', { name })).status).to.equal(201)
    }
    await second.close()
    await addKeys(database.url, onDatabase(database.url, backup), other.id)
  })
  beforeEach(async () => {
    logged = []
    api = await startApi(onDatabase(database.url, backup), { store, log: (message) => logged.push(message) })
  })
  afterEach(() => api.close())
  after(() => administer(database.ownerUrl, (client) => client.query(`drop database if exists ${backup} with (force)`)))

  it('let the service start, with all data of other persons [LEDGER-51]', async () => {
    const call = callTo(api.url, other)
    expect(await namesOf(call)).to.deep.equal(['Ana', 'Bia', 'Caio'])
    expect((await call('POST', '/customers', { name: `Davi ${Date.now()}` })).status).to.equal(201)
    expect(logged).to.deep.equal(['ledger: company is read-only, keys of persons are missing'])
  })

  it('make their company read-only: writes are refused with the reason, reads are answered [LEDGER-51]', async () => {
    const call = callTo(api.url, losing)
    expect(await namesOf(call)).to.deep.equal(['Ana'])
    expectReadOnly(await call('POST', '/customers', { name: 'Davi' }))
    expectReadOnly(await call('POST', '/customers/batch', { items: [{ name: 'Davi' }] }))
  })

  it('are counted in health and metrics without affecting readiness [LEDGER-51]', async () => {
    expect(await api.core.missingKeys()).to.deep.equal([losing.id])
    const health = await (await fetch(`${api.url}/health/ready`)).json()
    expect(health).to.deep.include({ status: 'ready', read_only_without_keys: 1 })
  })

  it('stop background jobs that record events for the company, and block no other company [LEDGER-51]', async () => {
    const follower = api.core.follow()
    try {
      await callTo(api.url, other)('POST', '/customers', { name: `Eva ${Date.now()}` })
      await until(async () => follower?.lag() === 0, { what: 'a follower that is level' })
    } finally {
      await follower?.stop()
    }
  })

  it('are declared lost only after confirmation [LEDGER-53]', async () => {
    const error = await failureOf(lostKeys(api.core, String(losing.id)))
    expect(error).to.be.instanceOf(Refused)
    expect((error as Refused).refusal).to.have.nested.property('details.fields.yes')
    expect(await api.core.missingKeys()).to.deep.equal([losing.id])
  })

  it('count as erased once they are declared lost, and the company takes writes again [LEDGER-53]', async () => {
    const found = await lostKeys(api.core, String(losing.id), '--yes')
    expect(found).to.deep.equal({ company_id: losing.id, lost_keys: 2, takes_writes: true })
    const call = callTo(api.url, losing)
    expect(await namesOf(call)).to.deep.equal(['Ana', null, null])
    expect((await call('POST', '/customers', { name: 'Davi' })).status).to.equal(201)
    const health = await (await fetch(`${api.url}/health/ready`)).json()
    expect(health).not.to.have.property('read_only_without_keys')
    expect(await api.core.verifyTables(losing.id)).to.deep.include({ kind: 'verified', differences: [] })
  })
})

describe('keys of persons restored while a service runs on a store outside Postgres', () => {
  const database = useDatabase('withoutReadModel')
  const older = useDatabase('withoutReadModel')

  it('end the read-only state of their company automatically [LEDGER-52]', async function () {
    this.timeout(120_000)
    const store = createOutsideStore()
    const first = await startApi(database.url, { store })
    const company = await first.company()
    await company.run(createCustomer, { name: 'Ana' })
    await first.close()
    const ofOlder = await startApi(older.url, { store })
    // Like an old backup: its tables end where they were emptied.
    expect(await ofOlder.core.missingKeys()).to.deep.equal([company.id])
    await ofOlder.core.pool.query(`update ops.ledgers set missing_keys = 'pending' where company_id = $1`, [company.id])
    await addKeys(database.url, older.url, company.id)
    const follower = ofOlder.core.follow()
    try {
      const isFree = async () => (await ofOlder.core.missingKeys()).length === 0
      await until(isFree, { what: 'the end of the read-only state', timeout_ms: 30_000 })
      // Secrets of its API keys exist in the newer Postgres only.
      expect(await runAsSystem(ofOlder.core.writer, company.id, createCustomer, { name: 'Bia' })).to.include({ id: 2 })
    } finally {
      await follower?.stop()
      await ofOlder.close()
    }
  })
})

for (const [name, outside] of [
  ['Postgres', null],
  ['a store outside', createOutsideStore()],
] as const) {
  describe(`missing keys of persons during a rebuild from ledgers in ${name}`, () => {
    const database = useDatabase(outside ? 'withoutReadModel' : 'withReadModel')
    let losing: TestCompany
    let other: TestCompany
    let version = readModel.number

    const storeOf = () => (outside ? { store: outside } : {})
    /** Starts the next version, which rebuilds its tables. */
    async function startNext(changes: Partial<CoreOptions> = {}): Promise<Core> {
      version += 1
      return openTestCore(database.url, {
        model: { ...readModel, number: version, version: `next ${version}` },
        ...storeOf(),
        ...changes,
      })
    }
    const customersOf = async (core: Core, { id }: TestCompany): Promise<(string | null)[]> => {
      const { rows } = await core.pool.query(
        "select doc ->> 'name' as name from customers where company_id = $1 order by id",
        [id],
      )
      return rows.map((row) => row.name)
    }
    const create = (core: Core, { id: companyId }: TestCompany, customer: string) =>
      writeRequest(core.writer, {
        companyId,
        invocations: [{ command: createCustomer, input: { name: customer } }],
        origin: 'system',
        actor: null,
        requestId: null,
      })

    before(async () => {
      const api = await startApi(database.url, storeOf())
      losing = await api.company()
      other = await api.company()
      for (const company of [losing, other])
        for (const customer of ['Ana', 'Bia']) await company.run(createCustomer, { name: customer })
      await api.close()
    })

    it('are restored: a rebuild reads all data, and the company takes writes again [LEDGER-52]', async function () {
      this.timeout(120_000)
      const restore = await loseKeys(database.url, losing.id)
      const core = await startNext()
      try {
        expect(await core.missingKeys()).to.deep.equal([losing.id])
        expect(await customersOf(core, losing)).to.deep.equal([null, null])
        expect(await customersOf(core, other)).to.deep.equal(['Ana', 'Bia'])
        expect(await failureOf(create(core, losing, 'Caio'))).to.include({ name: 'Unavailable' })
        await create(core, other, 'Caio')
        await restore()
        expect(await lostKeys(core, String(losing.id)), 'rows are still empty').to.include({
          lost_keys: 0,
          takes_writes: false,
        })
        await core.rebuild()
        expect(await customersOf(core, losing)).to.deep.equal(['Ana', 'Bia'])
        expect((await lostKeys(core, String(losing.id))).takes_writes).to.equal(true)
        expect(await core.missingKeys()).to.deep.equal([])
        await create(core, losing, 'Caio')
      } finally {
        await core.close()
      }
    })

    it('are declared lost: the company takes writes again, and reads stay the same from then on [LEDGER-53]', async function () {
      this.timeout(120_000)
      await loseKeys(database.url, losing.id)
      const core = await startNext()
      try {
        expect(await lostKeys(core, String(losing.id), '--yes')).to.include({ lost_keys: 3, takes_writes: true })
        await create(core, losing, 'Davi')
        expect(await customersOf(core, losing)).to.deep.equal([null, null, null, 'Davi'])
        expect((await core.rebuild()).parity?.filter(({ equal }) => !equal)).to.deep.equal([])
        expect(await core.missingKeys()).to.deep.equal([])
      } finally {
        await core.close()
      }
    })

    it('fail a rebuild that would erase data the tables still show [LEDGER-51]', async () => {
      const core = await startNext()
      try {
        await loseKeys(database.url, other.id)
        expect(await failureOf(core.rebuild())).to.include({ name: 'CannotOpen' })
        expect(await customersOf(core, other)).to.deep.equal(['Ana', 'Bia', 'Caio'])
        expect(await core.missingKeys()).to.deep.equal([])
      } finally {
        await core.close()
      }
    })

    if (!outside)
      it('can be declared lost even if their persons have new keys [LEDGER-53]', async () => {
        const core = await startNext()
        try {
          expect(await core.missingKeys()).to.deep.equal([other.id])
          expect((await lostKeys(core, String(other.id), '--yes')).lost_keys).to.equal(3)
          await core.pool.query(`delete from ops.person_keys where company_id = $1 and subject like 'customer/%'`, [
            other.id,
          ])
          await create(core, other, 'Davi')
          await core.pool.query(
            `update ops.person_keys set subject = 'customer/1' where company_id = $1 and wrapped is not null and subject like 'customer/%'`,
            [other.id],
          )
          expect((await lostKeys(core, String(other.id), '--yes')).lost_keys).to.equal(3)
          expect((await core.rebuild()).companies).to.be.at.least(2)
        } finally {
          await core.close()
        }
      })
  })
}

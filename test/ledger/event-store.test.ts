import { expect } from 'chai'
import type { Pool } from 'pg'
import * as z from 'zod'
import { registerCompany } from '#commands/company-commands.ts'
import { CreateStoreInput, createStore } from '#commands/store-commands.ts'
import { createUpcaster, eventType, money, newVersion, text } from '#events/event-definitions.ts'
import { streamName } from '#ledger/command.ts'
import { ensureLedger } from '#ledger/ledgers.ts'
import { type Append, WrongExpectedRevision } from '#ledger/port.ts'
import { CopyDiffers, copyLedgers } from '#ledger/stores/copy-ledgers.ts'
import { createPostgresStore } from '#ledger/stores/postgres-store.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { Unavailable } from '#lib/errors.ts'
import { createPool, withPool } from '#postgres/pool.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { findStore } from '#queries/company-queries.ts'
import type { Core } from '#service/core.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { companyRegistered } from '../support/facts.ts'
import { untilBlocked } from '../support/lock-waits.ts'
import { createOutsideStore, type FaultyStore } from '../support/outside-store.ts'
import { openTestCore } from '../support/test-core.ts'
import { until } from '../support/wait.ts'
import { appendOf, collect, describeEventStore } from './event-store-contract.ts'
import { describeEventVersions } from './event-versions.ts'
import { describeOutsideStore } from './outside-store-contract.ts'
import { ordinary, sealedAfter } from './sealed-events.ts'

describe('event stores', () => {
  const database = useDatabase()

  describeEventStore('Postgres', async () => {
    const pool = createPool(database.url, { max: 8 })
    const store = createPostgresStore(pool)
    return {
      store,
      append: (appends) => inTransaction(pool, (tx) => store.append(appends, tx)),
      close: () => pool.end(),
    }
  })

  describeEventStore('the stand-in for one outside the transaction', async () => {
    const store = createOutsideStore()
    return {
      store,
      append: (appends) => store.append(appends, { query: () => Promise.reject(new Error('has no transaction')) }),
      close: async () => {},
    }
  })

  describeOutsideStore('the stand-in', createOutsideStore)

  describe('Postgres store, inside a transaction', () => {
    let pool: Pool
    before(() => {
      pool = createPool(database.url, { max: 3 })
    })
    after(() => pool.end())

    const streams = ['company-1', 'company-2', 'company-3'] as const
    const lengths = async (): Promise<number[]> => {
      const store = createPostgresStore(pool)
      return Promise.all(streams.map(async (stream) => (await collect(store.read(stream, 0))).length))
    }

    it('hides an append before its commit, and discards it on rollback', async () => {
      const store = createPostgresStore(pool)
      const appends = streams.map((stream) => appendOf(sealedAfter(stream, null, ordinary(2))))
      const failure = new Error('something after the append')
      const outcome = await inTransaction(pool, async (tx) => {
        await store.append(appends, tx)
        expect(await lengths()).to.deep.equal([0, 0, 0])
        throw failure
      }).catch((error: unknown) => error)
      expect(outcome).to.equal(failure)
      expect(await lengths()).to.deep.equal([0, 0, 0])
    })

    it('appends to and reads one partition of eight, also with a plan made for any company [OPS-940]', async () => {
      const { rows } = await withPool(database.url, { max: 1 }, (own) =>
        inTransaction(own, async (tx, client) => {
          await client.query('set local plan_cache_mode = force_generic_plan')
          const { append, read, pick, search, hashes, stored } = createPostgresStore(client as unknown as Pool)
          const stream = 'company-70'
          await append([appendOf(sealedAfter(stream, null, ordinary(3)))], tx)
          expect(await collect(read(stream, 0))).to.have.length(3)
          expect(await collect(pick(stream, [1]))).to.have.length(1)
          await search?.(stream, { fromRevision: 0, toRevision: 9, types: null, subject: 'sale/1', limit: 5 })
          if (hashes) await collect(hashes(stream, 0))
          if (stored) await collect(stored(stream, null))
          return client.query(
            `select count(*)::int as all, (count(*) filter (where idx_scan > 0 or seq_scan > 0 or n_tup_ins > 0))::int as used
             from pg_stat_xact_user_tables where schemaname = 'ledger' and relname <> 'events'`,
          )
        }),
      )
      expect(rows).to.deep.equal([{ all: 8, used: 1 }])
    })

    it('appends to none of several streams if one of them is at another revision', async () => {
      const store = createPostgresStore(pool)
      await inTransaction(pool, (tx) => store.append([appendOf(sealedAfter(streams[1], null, ordinary(1)))], tx))
      const appends = streams.map((stream) => appendOf(sealedAfter(stream, null, ordinary(2))))
      const outcome = await inTransaction(pool, (tx) => store.append(appends, tx)).catch((error: unknown) => error)
      expect(outcome).to.be.instanceOf(WrongExpectedRevision).and.to.include({ stream: streams[1] })
      expect(await lengths()).to.deep.equal([0, 1, 0])
    })

    it('reports a wrong revision if an append loses against one that was not yet committed', async () => {
      const store = createPostgresStore(pool)
      const [first, second] = [1, 2].map(() => [appendOf(sealedAfter('company-4', null, ordinary(1)))])
      let loser: Promise<unknown> | undefined
      await inTransaction(pool, async (tx) => {
        await store.append(first as Append[], tx)
        loser = inTransaction(pool, (other) => store.append(second as Append[], other)).catch((error: unknown) => error)
        await until(async () => {
          const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event = 'transactionid'`
          return (await pool.query(waiting)).rows.length > 0
        })
      })
      expect(await loser)
        .to.be.instanceOf(WrongExpectedRevision)
        .and.to.include({ stream: 'company-4' })
    })
  })
})

const COMPANIES = [1, 2]
const TAKEN = { refused: 'duplicate_resource', details: { field: 'alias' } }

const store = (alias: string) => CreateStoreInput.parse({ alias, commission_percentage: '5' })

describe('names that are unique in the whole installation', () => {
  const database = useDatabase()
  let core: Core

  before(async () => {
    core = await openTestCore(database.url)
    for (const id of COMPANIES) {
      await ensureLedger(core.pool, id)
      await runAsSystem(core.writer, id, registerCompany, companyRegistered({ id }).data as never)
    }
  })
  after(() => core.close())

  it('belong to one store under concurrent requests of several companies and processes', async () => {
    const another = await openTestCore(database.url, { queryConnections: 1 })
    try {
      const aliases = Array.from({ length: 10 }, (_, index) => `loja-${index}`)
      const asked = aliases.flatMap((alias) =>
        [core, another].flatMap(({ writer }) =>
          COMPANIES.map(async (id) => ({
            id,
            alias,
            answer: (await runAsSystem(writer, id, createStore, store(alias))) as Record<string, unknown>,
          })),
        ),
      )
      const answers = await Promise.all(asked)
      for (const alias of aliases) {
        const [opened, ...more] = answers.filter((each) => each.alias === alias && 'id' in each.answer)
        expect(more).to.deep.equal([])
        const holder = await findStore(core.pool, core.vault, alias)
        expect(holder).to.include({ companyId: opened?.id, id: opened?.answer.id })
        for (const { id, answer } of answers.filter((each) => each.alias === alias && each !== opened)) {
          // Only the store's own company gets its id.
          const own = id === opened?.id ? { conflicting_id: opened.answer.id } : {}
          expect(answer).to.deep.equal({ refused: 'duplicate_resource', details: { field: 'alias', ...own } })
        }
      }
    } finally {
      await another.close()
    }
  })

  it('are refused, without an internal error, if another process commits one during the command', async () => {
    const other = await core.pool.connect()
    try {
      await other.query('begin')
      await other.query(`insert into ops.store_secrets (store_id, company_id, alias) values (900, $1, 'padaria')`, [
        COMPANIES[0],
      ])
      const answer = runAsSystem(core.writer, COMPANIES[1] as number, createStore, store('padaria'))
      await untilBlocked(core.pool)
      await other.query('commit')
      expect(await answer).to.deep.equal(TAKEN)
    } finally {
      other.release()
    }
  })
})

describeEventVersions('Postgres', () => null)
describeEventVersions('the stand-in for a store outside the transaction', createOutsideStore)

describe('upcaster', () => {
  const first = eventType('thing', { note: text })
  const second = newVersion(first, { notes: z.array(text) }, ({ id, note }) => ({ id, notes: [note] }))
  const Noted = newVersion(second, { notes: z.array(text), price: money }, (data, { revision }) => ({
    ...data,
    price: `${revision}.00`,
  }))
  const upcast = createUpcaster({ Noted })
  const stored = (version: number, data: object) => {
    const [event] = sealedAfter('company-1', null, [{ type: 'Noted', subject: 'thing/1', data }])
    if (!event) throw new Error('one event was asked for')
    return { ...event, version }
  }

  it('converts from version to version without changing the stored event', () => {
    for (const [version, data] of [
      [1, { id: 1, note: 'a' }],
      [2, { id: 1, notes: ['a'] }],
    ] as const) {
      const event = Object.freeze(stored(version, Object.freeze(data)))
      expect(upcast(event)).to.deep.equal({ ...event, version: 3, data: { id: 1, notes: ['a'], price: '0.00' } })
    }
  })

  it('returns events of the newest version and of unknown types unchanged', () => {
    for (const event of [stored(3, { id: 1, notes: [], price: '1.00' }), { ...stored(7, {}), type: 'constructor' }])
      expect(upcast(event)).to.equal(event)
  })

  it('refuses future versions and versions that never existed', () => {
    for (const version of [4, 0, -1, 1.5])
      expect(() => upcast(stored(version, {}))).to.throw(Unavailable, `does not know version ${version} of Noted`)
  })
})

describe('copy of all ledgers to another store', () => {
  const database = useDatabase()
  let api: TestApi
  let companies: TestCompany[]
  let target: FaultyStore

  before(async () => {
    api = await startApi(database.url)
    companies = [await api.company(), await api.company()]
    const items = Array.from({ length: 500 }, (_, n) => ({ external_id: `c-${n}`, name: `Cliente ${n}` }))
    for (const company of companies) {
      await company.post('/customers/batch', { items })
      await company.post('/catalog/items', { name: 'Café', price: '1.00' })
    }
  })
  beforeEach(() => {
    target = createOutsideStore({ maxAppendBytes: 60_000 })
  })
  after(() => api.close())

  const copy = () => copyLedgers(api.core.store, target)
  const lengths = () => companies.map(({ id }) => target.events(streamName(id)).length)

  it('contains the same events, with the same revisions, ids and hashes [LEDGER-15]', async () => {
    const { streams, events, known } = await copy()
    expect({ streams, known }).to.deep.equal({ streams: 2, known: 0 })
    for (const { id } of companies) {
      expect(target.events(streamName(id))).to.deep.equal(await collect(api.core.store.read(streamName(id), 0)))
    }
    expect(events).to.equal(lengths().reduce((sum, length) => sum + length, 0))
  })

  it('resumes after an interruption, and includes events appended since [LEDGER-15]', async () => {
    target.faults.push('none', 'half', 'after')
    const failures: unknown[] = []
    for (let run = 0; run < 4; run++) await copy().catch((error) => failures.push(error))
    expect(failures).to.have.length.above(0)
    const [first] = companies
    await first?.post('/customers', { name: 'Mais tarde' })
    const { events, known } = await copy()
    expect(events - known).to.equal(1)
    expect(await copy()).to.include({ events, known: events })
  })

  it('can replace the source as the store of the service', async () => {
    await copy()
    const moved = await startApi(database.url, { store: target })
    try {
      const before = lengths()
      const reply = await fetch(`${moved.url}/api/v1/customers`, {
        method: 'POST',
        headers: { authorization: `Bearer ${companies[0]?.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'No novo lugar' }),
      })
      expect(reply.status).to.equal(201)
      expect(lengths()).to.deep.equal([(before[0] ?? 0) + 1, before[1]])
    } finally {
      await moved.close()
    }
  })

  it('stops if the target contains other events [LEDGER-15]', async () => {
    const [company] = companies
    const stream = streamName(company?.id ?? 0)
    const [first] = await collect(api.core.store.read(stream, 0))
    if (!first) throw new Error('the source is empty')
    const other = { ...first, hash: 'f'.repeat(64) }
    await target.append([{ stream, expectedRevision: -1, commands: [[other]] }], undefined as never)
    const failure = await copy().catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(CopyDiffers).and.to.include({ stream, revision: 0 })
    expect(target.events(stream)).to.have.length(1)
  })
})

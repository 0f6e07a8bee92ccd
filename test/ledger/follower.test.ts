import { expect } from 'chai'
import type { Pool } from 'pg'
import { v7 } from 'uuid'
import { type Envelope, GENESIS_HASH } from '#ledger/command.ts'
import {
  type CatchUpSubscription,
  type CatchUpSubscriptionOptions,
  catchUpAll,
  readSubscriptionCheckpoint,
  startCatchUpSubscription,
} from '#ledger/follow/follower.ts'
import type { ReadModel } from '#ledger/projection.ts'
import { replay } from '#ledger/rebuild/replay.ts'
import type { Committed } from '#ledger/write/attempt.ts'
import type { Answer } from '#ledger/write/idempotency.ts'
import { writeRequest } from '#ledger/write/writer.ts'
import { createPool } from '#postgres/pool.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { useDatabase } from '../support/database.ts'
import { keysIn } from '../support/master-key.ts'
import { createOutsideStore, type FaultyStore } from '../support/outside-store.ts'
import { until } from '../support/wait.ts'
import { addition, counterDdl, counterModel, counters, echo } from './counters.ts'
import { appendOf } from './event-store-contract.ts'
import { type Sketch, sealedAfter } from './sealed-events.ts'
import { allowNoStrayRejections } from './stray-rejections.ts'
import { assertLedger, empty, type Harness, openHarness } from './writer-harness.ts'

const added = (id: number, request_id: string, key?: string): Sketch => ({
  subject: `counter/${id}`,
  data: { id, by: 1 },
  request_id,
  idempotency: key === undefined ? null : { key, request_hash: 'same', status: 200 },
})

describe('follower of a store outside Postgres', () => {
  const database = useDatabase()
  let harness: Harness
  let store: FaultyStore
  let pool: Pool
  let follower: CatchUpSubscription | null
  let logged: string[]

  beforeEach(async () => {
    store = createOutsideStore()
    harness = await openHarness(database.url, store, [1])
    await empty(harness)
    await harness.pool.query('delete from ops.ledgers where company_id > 1')
    await harness.pool.query('delete from ops.subscription_checkpoints')
    pool = createPool(database.url, { max: 3, pipeline: true })
    follower = null
    logged = []
  })
  afterEach(async () => {
    await follower?.stop()
    await Promise.all([harness.close(), pool.end()])
  })

  const options = (): CatchUpSubscriptionOptions => ({
    pool,
    store,
    model: counterModel,
    keys: keysIn(pool),
    reactors: [echo],

    newId: v7,
    onCommitted: (moved: readonly Committed[]) => {
      if (moved.some(({ hasReacted }) => hasReacted)) harness.rings.push('follower')
    },
    onOutdated: () => logged.push('outdated'),
    log: (message) => logged.push(message),
  })
  /** Leftovers of a process that ended between its append and its COMMIT. */
  async function left(
    companyId: number,
    sketches: readonly Sketch[],
    after: Envelope | null = null,
  ): Promise<Envelope[]> {
    const events = sealedAfter(`company-${companyId}`, after, sketches, Date.now() - 60_000)
    await store.append([appendOf(events)], { query: () => Promise.reject(new Error('has no transaction')) })
    return events
  }
  const revisionOf = async (companyId: number): Promise<number | undefined> => {
    const { rows } = await harness.pool.query('select revision from ledgers where company_id = $1', [companyId])
    return rows[0]?.revision
  }
  const untilApplied = (companyId: number, revision: number) =>
    until(async () => (await revisionOf(companyId)) === revision, { what: `revision ${revision}` })

  it('applies events that no writer applies, also of companies unknown to this Postgres', async () => {
    await left(1, [added(1, 'r-1'), added(2, 'r-2')])
    follower = startCatchUpSubscription(options())
    await untilApplied(1, 1)
    await left(77, [added(1, 'r-3')])
    await untilApplied(77, 0)
    await Promise.all([assertLedger(harness, 1, 2), assertLedger(harness, 77, 1)])
    expect(harness.rings).to.include('follower')
    await until(async () => (await readSubscriptionCheckpoint(pool)) === '2', { what: 'the checkpoint' })
  })

  it('does not disturb an active writer, and applies nothing twice beside it', async () => {
    follower = startCatchUpSubscription(options())
    await Promise.all(
      Array.from({ length: 60 }, (_, n) => writeRequest(harness.writer, addition(1, { id: n % 3, by: 1 }, `key-${n}`))),
    )
    await assertLedger(harness, 1, 60)
    await until(async () => (await readSubscriptionCheckpoint(pool)) === '59', { what: 'the checkpoint' })
    expect(follower.lag()).to.equal(0)
  })

  it('skips a locked ledger without waiting, and returns to it later', async () => {
    const holder = await harness.pool.connect()
    await harness.pool.query(`insert into ops.ledgers (company_id, hash) values (2, repeat('0', 64))`)
    await holder.query('begin')
    await holder.query('select from ops.ledgers where company_id = 1 for update')
    await left(1, [added(1, 'r-1')])
    await left(2, [added(1, 'r-2')])
    follower = startCatchUpSubscription(options())
    await untilApplied(2, 0)
    expect(await revisionOf(1)).to.equal(-1)
    // Events that are not applied yet are sent again after a crash.
    expect(await readSubscriptionCheckpoint(pool)).to.equal(null)
    expect(follower.lag()).to.equal(1)
    await holder.query('commit')
    holder.release()
    await untilApplied(1, 0)
    await until(async () => (await readSubscriptionCheckpoint(pool)) === '1', { what: 'the checkpoint' })
  })

  it('resumes at the position of its predecessor, and reconnects to a store that was down', async () => {
    const first = await left(1, [added(1, 'r-1')])
    follower = startCatchUpSubscription(options())
    await until(async () => (await readSubscriptionCheckpoint(pool)) === '0', { what: 'the checkpoint' })
    await follower.stop()
    store.down = true
    follower = startCatchUpSubscription(options())
    await until(async () => logged.length > 0, { what: 'a complaint' })
    store.down = false
    await left(1, [added(1, 'r-2')], first.at(-1))
    await untilApplied(1, 1)
    await assertLedger(harness, 1, 2)
  })

  it('applies everything before the service starts, in slices', async () => {
    const sketches = Array.from({ length: 1300 }, (_, n) =>
      added(n % 7, `r-${Math.floor(n / 3)}`, n % 3 ? undefined : `k-${n}`),
    )
    await left(1, sketches)
    await left(5, [added(1, 'r')])
    await catchUpAll(options())
    await Promise.all([assertLedger(harness, 1, 1300), assertLedger(harness, 5, 1)])
    expect(await readSubscriptionCheckpoint(pool)).to.equal('1300')
    const { rows } = await harness.pool.query(
      'select count(*)::int as answers from idempotent_answers where company_id = 1',
    )
    expect(rows[0].answers).to.equal(Math.ceil(1300 / 3))
    // The last of three events of request r-166 is at the end of the first slice.
    const answer = await harness.pool.query(`select body from idempotent_answers where key = ' k-498'`)
    const values = sketches.slice(0, 501).filter((sketch) => (sketch.data as { id: number }).id === 498 % 7).length
    expect(JSON.parse(answer.rows[0].body).value).to.equal(values)
    await catchUpAll(options())
    await assertLedger(harness, 1, 1300)
  })

  it('writes nothing to tables of another version [LEDGER-12]', async () => {
    await left(1, [added(1, 'r-1')])
    await harness.pool.query(`update ops.read_model set version = 'newer', number = 2`)
    follower = startCatchUpSubscription(options())
    await until(async () => logged.includes('outdated'), { what: 'the other version to be noticed' })
    expect(await revisionOf(1)).to.equal(-1)
  })
})

/** Leftovers of a process that ended between its append and its COMMIT. */
describe('catch-up of the tables with the event store', () => {
  const added = (id: number, request_id: string | null, key?: string): Sketch => ({
    subject: `counter/${id}`,
    data: { id, by: 1 },
    request_id,
    idempotency: key === undefined ? null : { key, request_hash: 'same', status: 201 },
  })

  const database = useDatabase()
  let harness: Harness
  let store: FaultyStore
  allowNoStrayRejections()

  beforeEach(async () => {
    store = createOutsideStore()
    harness = await openHarness(database.url, store, [1])
    await empty(harness)
  })
  afterEach(() => harness.close())

  const left = async (...sketches: Sketch[]): Promise<Envelope[]> => {
    // A minute ago: stored responses expire by age.
    const events = sealedAfter('company-1', null, sketches, Date.now() - 60_000)
    await store.append([appendOf(events)], { query: () => Promise.reject(new Error('has no transaction')) })
    return events
  }
  const ask = (key: string, id = 1): Promise<Answer> =>
    writeRequest(harness.writer, addition(1, { id, by: 1 }, key)) as Promise<Answer>

  it('applies events of other writers before it decides anything new', async () => {
    await left(added(1, 'r-1'), added(2, 'r-2'), added(1, 'r-3'))
    const answer = await ask('new')
    expect(answer.record).to.include({ id: 1, value: 3 })
    await assertLedger(harness, 1, 4)
  })

  it('applies more events than one read of the store returns', async () => {
    await left(...Array.from({ length: 1200 }, (_, n) => added(n % 7, `r-${n}`)))
    await ask('new')
    await assertLedger(harness, 1, 1201)
  })

  it('stores the answer of each request as of its own event, with its own status [IDEM-7]', async () => {
    await left(added(1, 'r-1', 'first'), added(1, 'r-2', 'second'), added(1, 'r-3'))
    await ask('new')
    const answers = await Promise.all([ask('first'), ask('second')])
    expect(answers.map(({ outcome, replayed }) => [outcome, replayed])).to.deep.equal([
      ['created', true],
      ['created', true],
    ])
    expect(answers.map(({ record }) => (record as { value: number }).value)).to.deep.equal([1, 2])
    await assertLedger(harness, 1, 4)
  })

  it('stores time-dependent fields as the original request would have answered them', async () => {
    const [event] = await left(added(1, 'r-1', 'first'))
    await ask('new')
    expect((await ask('first')).record).to.include({ shown_at: event?.recorded_at })
  })

  it('stores the answer of a request with several events as of its last event', async () => {
    await left(added(1, 'r-1', 'first'), added(2, 'r-1'), added(1, 'r-1'), added(1, 'r-2'))
    await ask('new')
    expect((await ask('first')).record).to.include({ id: 1, value: 2 })
  })

  it('distinguishes requests with the same client request id, or without one', async () => {
    for (const request_id of ['mine', null]) {
      store = createOutsideStore()
      await harness.close()
      harness = await openHarness(database.url, store, [1])
      await empty(harness)
      await left(added(1, request_id, 'first'), added(1, request_id, 'second'))
      await ask('new')
      const answers = await Promise.all([ask('first'), ask('second')])
      expect(answers.map(({ replayed, record }) => [replayed, (record as { value: number }).value])).to.deep.equal([
        [true, 1],
        [true, 2],
      ])
      await assertLedger(harness, 1, 3)
    }
  })

  it('passes the next event to reactors, as the writer does [HOOK-29]', async () => {
    const seen: (readonly [number, number | null])[] = []
    const { refs } = echo
    Object.assign(echo, {
      refs: (_rows: unknown, { revision }: Envelope, next: Envelope | null) => {
        seen.push([revision, next?.revision ?? null])
        return []
      },
    })
    try {
      await left(added(1, 'r-1'), added(1, 'r-1'), added(2, 'r-2'))
      await ask('new')
    } finally {
      Object.assign(echo, { refs })
    }
    // The first entry is the writer's, from before it learned that it was too late.
    expect(seen).to.deep.equal([
      [0, null],
      [0, 1],
      [1, 2],
      [2, null],
      [3, null],
    ])
  })

  it('stores no answer for the events of a batch', async () => {
    await left(added(1, 'r-1'), added(1, 'r-1'))
    await ask('new')
    const { rows } = await harness.pool.query('select key from idempotent_answers')
    expect(rows).to.deep.equal([{ key: ' new' }])
  })

  it('answers equal idempotency keys alike if their group failed and another process was faster', async () => {
    const append = store.append.bind(store)
    store.append = async () => {
      store.append = append
      await left(added(1, 'r-1'))
      throw new Error('14 UNAVAILABLE')
    }
    const answers = await Promise.all([ask('key'), ask('key')])
    expect(answers.map(({ record }) => (record as { value: number }).value)).to.deep.equal([2, 2])
    expect(answers.map(({ replayed }) => replayed)).to.deep.equal([false, true])
    await assertLedger(harness, 1, 2)
  })

  it('refuses no request because of a neighbour that appended no events [LEDGER-6]', async () => {
    const append = store.append.bind(store)
    store.append = async () => {
      store.append = append
      throw new Error('14 UNAVAILABLE')
    }
    const answers = await Promise.all([
      writeRequest(harness.writer, addition(1, { id: 1, by: 1, limit: 1 })),
      writeRequest(harness.writer, addition(1, { id: 1, by: 1, limit: 1 })),
    ])
    expect(answers.map((answer) => 'refused' in answer)).to.deep.equal([false, true])
    await assertLedger(harness, 1, 1)
  })
})

const COMPANY_ID = 1
/** Several times the number of rows kept before a write. */
const EVENTS = 10_300
/** Each changes a few times, both nearby and thousands of events apart. */
const COUNTERS = 3_001

const counterOf = (revision: number): number => (revision % 10 === 0 ? 0 : revision % COUNTERS)

const eventAt = (revision: number, more: object = {}): Envelope => ({
  id: `00000000-0000-7000-8000-${String(revision).padStart(12, '0')}`,
  type: 'CounterAdded',
  version: 1,
  stream: `company-${COMPANY_ID}`,
  revision,
  recorded_at: '2026-03-10T15:00:00.000Z',
  subject: `counter/${counterOf(revision)}`,
  origin: 'system',
  actor: null,
  request_id: null,
  idempotency: null,
  previous_hash: GENESIS_HASH,
  hash: GENESIS_HASH,
  data: { id: counterOf(revision), by: revision, ...more },
})

/** Ledger that records the read position, and whether it was closed. */
function ledger(count: number, more: object = {}) {
  const seen = { read: 0, closed: false }
  async function* events(): AsyncGenerator<Envelope> {
    try {
      for (; seen.read < count; seen.read++) yield eventAt(seen.read, more)
    } finally {
      seen.closed = true
    }
  }
  return { seen, events: events() }
}

/** Sums of the counters, in order, up to a revision (inclusive). */
function sumsUpTo(revision: number): [number, number][] {
  const sums = new Map<number, number>()
  for (let n = 0; n <= revision; n++) sums.set(counterOf(n), (sums.get(counterOf(n)) ?? 0) + n)
  return [...sums].sort(([a], [b]) => a - b)
}

describe('replay', () => {
  const database = useDatabase()
  let pool: Pool
  allowNoStrayRejections()
  before(async () => {
    pool = createPool(database.url, { max: 2, pipeline: true })
    await pool.query(`drop schema if exists read cascade; create schema read; ${counterDdl}`)
  })
  beforeEach(() => pool.query('truncate counters'))
  after(() => pool.end())

  const stored = async (): Promise<unknown> => {
    const { rows } = await pool.query<{ id: number; value: number }>('select id, value from counters order by id')
    return rows.map(({ id, value }) => [id, value])
  }

  /** Row counts of the write statements, by the statement's first word. */
  async function replayAll(events: AsyncIterable<Envelope>, upTo = EVENTS, model: ReadModel = counterModel) {
    const written: [string, number][] = []
    const applied = await inTransaction(pool, (tx) =>
      replay(
        {
          query(statement, values) {
            const [column] = (values ?? []) as Buffer[]
            // The header of a binary array contains the number of elements.
            if (column && /^(replace|upsert)_/.test(statement.name ?? ''))
              written.push(['replace', column.readInt32BE(12)])
            return tx.query(statement, values)
          },
          copy(statement, lines) {
            written.push(['copy', lines.split('\n').length - 1])
            return tx.copy(statement, lines)
          },
        },
        model,
        COMPANY_ID,
        events,
        upTo,
      ),
    )
    return { applied, written }
  }

  it('writes nearby changes of a row once, with the same result [LEDGER-10]', async () => {
    const { written, applied } = await replayAll(ledger(EVENTS).events)
    expect(applied).to.equal(EVENTS)
    expect(await stored()).to.deep.equal(sumsUpTo(EVENTS - 1))
    const rowsBy = (way: string) => written.reduce((sum, [each, rows]) => sum + (each === way ? rows : 0), 0)
    expect(rowsBy('copy'), 'rows that were new').to.equal(COUNTERS)
    expect(rowsBy('replace'), 'rows that were there').to.be.within(1, EVENTS / 2)
  })

  it('keeps no more rows in memory for a longer ledger, and fewer for events with long lists', async () => {
    const most = async (events: AsyncIterable<Envelope>) =>
      Math.max(...(await replayAll(events)).written.map(([, rows]) => rows))
    expect(await most(ledger(EVENTS).events)).to.be.most(4_000)
    await pool.query('truncate counters')
    expect(await most(ledger(EVENTS, { items: Array(10).fill('…') }).events)).to.be.most(500)
    expect(await stored()).to.deep.equal(sumsUpTo(EVENTS - 1))
  })

  it('stops at a revision, closes the ledger there, and resumes later', async () => {
    const first = ledger(EVENTS)
    expect((await replayAll(first.events, 6_789)).applied).to.equal(6_790)
    expect(first.seen.closed).to.equal(true)
    expect(await stored()).to.deep.equal(sumsUpTo(6_789))
    const second = ledger(EVENTS)
    second.seen.read = 6_790
    expect((await replayAll(second.events)).applied).to.equal(EVENTS - 6_790)
    expect(await stored()).to.deep.equal(sumsUpTo(EVENTS - 1))
  })

  it('applies nothing for an empty ledger', async () => {
    expect(await replayAll(ledger(0).events)).to.deep.equal({ applied: 0, written: [] })
  })

  it('rolls back all rows if a projection fails, and closes the ledger', async () => {
    const failing: ReadModel = {
      ...counterModel,
      projections: counterModel.projections.map(({ on, ...projection }) => ({
        ...projection,
        on: {
          CounterAdded: {
            refs: (event) => on.CounterAdded?.refs(event) ?? [],
            apply(rows, event) {
              if (event.revision === 9_000) throw new Error('a bug in a projection')
              on.CounterAdded?.apply(rows, event)
            },
          },
        },
      })),
    }
    const { events, seen } = ledger(EVENTS)
    const failure = await replayAll(events, EVENTS, failing).catch((error: Error) => error)
    expect(failure).to.have.property('message', 'a bug in a projection')
    expect(seen.closed).to.equal(true)
    expect(await stored()).to.deep.equal([])
  })

  it('rolls back if reading the ledger fails', async () => {
    async function* broken(): AsyncGenerator<Envelope> {
      yield* ledger(5_000).events
      throw new Error('the store is gone')
    }
    const failure = await replayAll(broken()).catch((error: Error) => error)
    expect(failure).to.have.property('message', 'the store is gone')
    expect(await stored()).to.deep.equal([])
  })

  it('fails with the reason if rows cannot be written', async () => {
    const adding: ReadModel = {
      ...counterModel,
      projections: [
        {
          name: 'counters',
          tables: [counters],
          on: {
            CounterAdded: {
              refs: () => [],
              apply: (rows, { revision: id }) =>
                rows.add(counters, { company_id: 1, id, value: 1, doc: { id, value: 1, last: '' } }),
            },
          },
        },
      ],
    }
    await pool.query(`insert into counters (company_id, id) values (1, 1)`)
    const failure = await replayAll(ledger(EVENTS).events, EVENTS, adding).catch((error: unknown) => error)
    expect(failure).to.include({ code: '23505', constraint: 'counters_pkey' })
    expect(await stored()).to.deep.equal([[1, null]])
  })
})

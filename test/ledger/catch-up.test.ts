import { expect } from 'chai'
import type { Envelope } from '#ledger/command.ts'
import type { Answer } from '#ledger/write/idempotency.ts'
import { writeRequest } from '#ledger/write/writer.ts'
import { useDatabase } from '../support/database.ts'
import { createOutsideStore, type FaultyStore } from '../support/outside-store.ts'
import { addition, echo } from './counters.ts'
import { appendOf } from './event-store-contract.ts'
import { type Sketch, sealedAfter } from './sealed-events.ts'
import { allowNoStrayRejections } from './stray-rejections.ts'
import { assertLedger, empty, type Harness, openHarness } from './writer-harness.ts'

const added = (id: number, request_id: string | null, key?: string): Sketch => ({
  subject: `counter/${id}`,
  data: { id, by: 1 },
  request_id,
  idempotency: key === undefined ? null : { key, request_hash: 'same', status: 201 },
})

/** Leftovers of a process that ended between its append and its COMMIT. */
describe('catch-up of the tables with the event store', () => {
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

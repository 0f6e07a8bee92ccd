import { expect } from 'chai'
import { type Envelope, STREAM_PREFIX, streamName } from '#ledger/command.ts'
import { type Note, type OutsideStore, WrongExpectedRevision } from '#ledger/port.ts'
import { createEventStoreDb } from '#ledger/stores/eventstoredb.ts'
import { Unavailable } from '#lib/errors.ts'
import type { Fault } from '../support/fake-eventstoredb/appends.ts'
import { type FakeEventStoreDb, startFakeEventStoreDb } from '../support/fake-eventstoredb/server.ts'
import { until } from '../support/wait.ts'
import { appendOf, collect, describeEventStore } from './event-store-contract.ts'
import { describeEventVersions } from './event-versions.ts'
import { describeServiceOn } from './outside-service.ts'
import { describeOutsideStore } from './outside-store-contract.ts'
import { ordinary, sealedAfter } from './sealed-events.ts'
import { allowNoStrayRejections } from './stray-rejections.ts'

/** The adapter with a fake server of the protocol; eventstoredb.test.ts tests a real one. */
describe('EventStoreDB adapter', () => {
  allowNoStrayRejections()
  let server: FakeEventStoreDb
  before(async () => {
    server = await startFakeEventStoreDb()
  })
  after(() => server.close())

  const open = (): OutsideStore => createEventStoreDb(server.url)

  describeEventStore('EventStoreDB adapter', async () => {
    const store = open()
    return {
      store,
      append: (appends) => store.append(appends, { query: () => Promise.reject(new Error('has no transaction')) }),
      close: () => store.close(),
    }
  })
  describeOutsideStore('EventStoreDB adapter', open)
  describeServiceOn('EventStoreDB adapter', open)
  describeEventVersions('EventStoreDB adapter', open)
})

const NO_TRANSACTION = { query: () => Promise.reject(new Error('has no transaction')) }

/**
 * Behaviour of the adapter during failures of server and network. Every failure ends in an error, in time, without
 * other effects.
 */
describe('EventStoreDB adapter during server failures', () => {
  allowNoStrayRejections()
  let server: FakeEventStoreDb
  let store: OutsideStore
  let stream: string
  let nextCompany = 1

  beforeEach(async () => {
    server = await startFakeEventStoreDb()
    store = createEventStoreDb(server.url)
    stream = streamName(nextCompany++)
  })
  afterEach(async () => {
    await store.close()
    await server.close()
  })

  const append = (events: readonly Envelope[]) => store.append([appendOf(events)], NO_TRANSACTION)
  const sealed = (count: number, last: Envelope | null = null, of = stream) => sealedAfter(of, last, ordinary(count))
  const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
    promise.then(
      () => null,
      (error: unknown) => error,
    )
  const stored = (of = stream) => server.all.filter((event) => event.stream === of).map(({ proposed }) => proposed.id)
  const ids = (events: readonly Envelope[]) => events.map(({ id }) => id)

  const FAILURES: Readonly<Partial<Record<Fault, string>>> = {
    cut: 'the connection breaks before the answer',
    lost: 'the connection breaks before the append',
    end: 'the server ends the call',
    'time-out': 'the server does not know it',
    'not leader': 'another node is the leader',
    'not ready': 'the node is not ready',
  }
  for (const [fault, what] of Object.entries(FAILURES))
    it(`reports an unknown outcome of an append if ${what}, and accepts its retry [LEDGER-44]`, async () => {
      await append(sealed(1, null, streamName(700_000)))
      const all = [sealed(3), sealed(2, null, streamName(700_001))]
      server.faults.push(fault as Fault)
      const failures = await Promise.all(all.map((events) => failureOf(append(events))))
      expect(failures.some((failure) => failure instanceof Error)).to.equal(true)
      for (const failure of failures) expect(failure).to.not.be.instanceOf(WrongExpectedRevision)
      for (const events of all) {
        await until(() => append(events).then(() => true), { what: 'the retry' })
        const { stream: name } = events[0] as Envelope
        expect(stored(name)).to.deep.equal(ids(events))
        expect(await collect(store.read(name, 0))).to.deep.equal(events)
      }
    })

  it('stops calling a server that does not respond for a while, and resumes once it does', async () => {
    const events = sealed(2)
    await append(events)
    server.freeze()
    const waiting = [append(sealed(1, events.at(-1))), collect(store.read(stream, 0)), store.ping()]
    const outcomes = await Promise.all(waiting.map(failureOf))
    expect(outcomes[0]).to.be.instanceOf(Error).and.not.instanceOf(WrongExpectedRevision)
    for (const outcome of outcomes.slice(1)) expect(outcome).to.be.instanceOf(Unavailable)
    expect(await failureOf(append(sealed(1, null, streamName(900_001))))).to.be.instanceOf(Unavailable)
    server.thaw()
    await until(async () => store.ping().then(() => true), { what: 'an answer' })
    expect(stored(streamName(900_001))).to.deep.equal([])
    expect((await collect(store.read(stream, 0))).slice(0, 2)).to.deep.equal(events)
  }).timeout(60_000)

  it('does not mistake an interrupted read for a short stream', async () => {
    const events = sealed(400)
    await append(events)
    for (const fail of [server.reset, server.kill]) {
      const reading = collect(store.read(stream, 0)).catch((error: unknown) => error)
      const listing = collect(store.notes(null)).catch((error: unknown) => error)
      await until(() => (server.calls.get('Read') ?? 0) % 2 === 0, { what: 'both reads' })
      await fail()
      for (const outcome of await Promise.all([reading, listing])) {
        if (outcome instanceof Unavailable) continue
        expect(outcome).to.have.length(400)
      }
    }
    await server.start()
    await until(async () => store.ping().then(() => true), { what: 'an answer' })
    expect(await collect(store.read(stream, 0))).to.deep.equal(events)
  })

  it('fails reads under way when it is closed, and never ends them early', async () => {
    await append(sealed(10))
    server.freeze()
    const reading = [collect(store.read(stream, 0)), collect(store.notes(null))]
    const failures = Promise.all(reading.map(failureOf))
    await store.close()
    for (const failure of await failures) expect(failure).to.be.instanceOf(Unavailable)
  })

  it('leaves nothing open after pings and after readers that leave in the middle', async () => {
    await append(sealed(1200))
    for (let n = 0; n < 5; n++) {
      await store.ping()
      for await (const { revision } of store.read(stream, 0)) if (revision === 3) break
    }
    await until(() => server.openReads() === 0, { what: 'the end of all reads' })
  })

  it('stores each append whole or not at all if the server is killed', async () => {
    const acknowledged: Envelope[][] = []
    const streams: string[] = []
    for (let round = 0; round < 6; round++) {
      const before = server.all.length
      const appends = Array.from({ length: 40 }, (_, n) => {
        const name = streamName(1000 + round * 40 + n)
        streams.push(name)
        const events = sealedAfter(
          name,
          null,
          ordinary(3).map((sketch) => ({ ...sketch, data: { text: 'x'.repeat(20_000) } })),
        )
        return append(events).then(() => acknowledged.push(events))
      })
      const settled = Promise.allSettled(appends)
      if (round % 2 === 0) {
        await until(() => server.all.length > before, { interval_ms: 1, what: 'the first of the appends' })
        await server.kill()
      }
      for (const outcome of await settled) {
        if (outcome.status === 'rejected') expect(outcome.reason).to.not.be.instanceOf(WrongExpectedRevision)
      }
      await server.start()
      await until(async () => store.ping().then(() => true), { what: 'an answer' })
    }
    // An append is whole or absent.
    for (const name of streams) expect(stored(name).length).to.be.oneOf([0, 3])
    for (const events of acknowledged) {
      expect(await collect(store.read((events[0] as Envelope).stream, 0))).to.deep.equal(events)
    }
    expect(acknowledged.length).to.be.at.least(3 * 40)
  }).timeout(120_000)

  it('ends an interrupted subscription with an error, then misses and repeats nothing', async () => {
    const events = sealed(5)
    await append(events)
    const seen: Note[] = []
    const leaving = new AbortController()
    const following = async () => {
      for await (const note of store.subscribe(seen.at(-1)?.position ?? null, leaving.signal)) seen.push(note)
    }
    for (const fail of [server.reset, server.kill]) {
      const failure = failureOf(following())
      const count = seen.length === 0 ? 5 : 8
      await until(() => seen.length === count, { what: 'the notes' })
      await fail()
      expect(await failure).to.be.instanceOf(Unavailable)
      await server.start()
      await until(async () => store.ping().then(() => true), { what: 'an answer' })
      if (seen.length === 5) {
        events.push(...sealed(3, events.at(-1)))
        await append(events.slice(5))
      }
    }
    expect(seen.map(({ revision }) => revision)).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7])
    const last = following()
    leaving.abort()
    await last
  })

  /** Appends to many streams at once, and returns the number of calls by name. */
  async function callsOf(batches: boolean): Promise<ReadonlyMap<string, number>> {
    const other = await startFakeEventStoreDb({ batches })
    const client = createEventStoreDb(other.url)
    const all = Array.from({ length: 300 }, (_, n) => sealed(1, null, streamName(800_000 + n)))
    await Promise.all(all.map((events) => client.append([appendOf(events)], NO_TRANSACTION)))
    await client.close()
    await other.close()
    const companies = other.all.filter(({ stream: name }) => name.startsWith(STREAM_PREFIX))
    expect(companies.map(({ proposed }) => proposed.id)).to.have.members(all.flatMap(ids))
    return other.calls
  }

  it('sends appends of many streams over one call [LEDGER-44]', async () => {
    expect(Object.fromEntries(await callsOf(true))).to.deep.equal({ BatchAppend: 1 })
  })

  it('sends separate appends to a server that does not know the shared call [LEDGER-44]', async () => {
    expect(Object.fromEntries(await callsOf(false))).to.deep.equal({ Append: 300 })
  })

  it('accepts the newer scheme names, and keeps the password of an unreadable address out of errors', async () => {
    for (const scheme of ['kurrentdb', 'kurrent']) {
      const renamed = createEventStoreDb(server.url.replace('esdb', scheme))
      await renamed.ping()
      await renamed.close()
    }
    for (const address of ['esdb://admin:segredo@127.0.0.1:porta', 'esdb://admin:segredo@'])
      expect(() => createEventStoreDb(address)).to.throw(/^(?!.*segredo).*address of the event store/)
  })
})

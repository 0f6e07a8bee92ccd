import { expect } from 'chai'
import { companyIdOfStream, type Envelope, hashEnvelope, streamName } from '#ledger/command.ts'
import { type Append, type EventStore, WrongExpectedRevision } from '#ledger/port.ts'
import { ordinary, type Sketch, sealedAfter } from './sealed-events.ts'

/** Store under test. `append` is that of a unit of work, with its commit if the store takes part in one. */
export interface OpenStore {
  readonly store: EventStore
  append(appends: readonly Append[]): Promise<void>
  close(): Promise<void>
}

/** Stores may outlive a run, so every test uses new streams. */
let nextCompany = Date.now() * 1000
const freshStream = (): string => streamName(nextCompany++)

/** Contract of every event store. */
export function describeEventStore(name: string, open: () => Promise<OpenStore>): void {
  describe(`event store: ${name} [LEDGER-13]`, () => {
    let opened: OpenStore
    let stream: string

    before(async () => {
      opened = await open()
    })
    after(() => opened?.close())
    beforeEach(() => {
      stream = freshStream()
    })

    const read = (from = 0, of = stream): Promise<Envelope[]> => collect(opened.store.read(of, from))
    /** Appends at the end of `stream`, one event per command, and returns the events. */
    const append = async (sketches: readonly Sketch[], last: Envelope | null = null): Promise<Envelope[]> => {
      const events = sealedAfter(stream, last, sketches)
      await opened.append([appendOf(events)])
      return events
    }

    it('returns no events for a stream that was never written', async () => {
      expect(await read()).to.deep.equal([])
      expect(await read(7)).to.deep.equal([])
    })

    it('appends to an empty stream, and then after its last revision [LEDGER-1]', async () => {
      const first = await append(ordinary(2))
      const second = await append(ordinary(3), first.at(-1))
      expect(await read()).to.deep.equal([...first, ...second])
    })

    it('appends to several streams at once, each at its own revision', async () => {
      const others = [freshStream(), freshStream()] as const
      const begun = await append(ordinary(4))
      const more = sealedAfter(stream, begun.at(-1) as Envelope, ordinary(2))
      const rest = others.map((other) => sealedAfter(other, null, ordinary(3)))
      await opened.append([more, ...rest].map(appendOf))
      expect(await read()).to.deep.equal([...begun, ...more])
      expect(await Promise.all(others.map((other) => read(0, other)))).to.deep.equal(rest)
    })

    it('reads from a given revision, inclusive', async () => {
      const events = await append(ordinary(5))
      expect(await read(3)).to.deep.equal(events.slice(3))
      expect(await read(4)).to.deep.equal(events.slice(4))
    })

    it('returns nothing beyond the end of a stream', async () => {
      await append(ordinary(2))
      expect(await read(2)).to.deep.equal([])
      expect(await read(500)).to.deep.equal([])
    })

    it('returns envelopes exactly as they were appended, so that their hashes verify', async () => {
      const events = await append([
        { data: { z: 1, a: null, nested: { y: [], b: [null, true, { 2: 'two', 10: 'ten' }] } } },
        { actor: 'api_key/7', request_id: 'r-1', idempotency: { key: 'ß€😀', request_hash: 'h', status: 201 } },
        {
          subject: 'sale/981',
          data: { name: 'São João – "Ipê" \\ / \t\n\u0001\u2028', emoji: '👩‍🌾', composed: ['é', 'é'] },
        },
        { data: { tiny: 1e-7, large: 9007199254740991, price: '10.50', zero: 0, negative: -1.5, empty: '' } },
      ])
      const stored = await read()
      expect(stored.map((event) => JSON.stringify(event))).to.deep.equal(events.map((event) => JSON.stringify(event)))
      for (const { hash, ...rest } of stored) expect(hashEnvelope(rest)).to.equal(hash)
    })

    const wrong: [string, number, number][] = [
      ['lower than the last one', 3, 1],
      ['higher than the last one', 3, 5],
      ['of an empty stream for one with events', 3, -1],
      ['above zero for an empty stream', 0, 4],
    ]
    for (const [which, length, expectedRevision] of wrong) {
      it(`refuses an expected revision ${which}, and appends nothing [LEDGER-1]`, async () => {
        const events = length > 0 ? await append(ordinary(length)) : []
        const before = { revision: expectedRevision, hash: 'f'.repeat(64) } as Envelope
        const late = sealedAfter(stream, before, ordinary(3))
        const error = await opened.append([appendOf(late)]).catch((reason: unknown) => reason)
        expect(error).to.be.instanceOf(WrongExpectedRevision).and.to.include({ stream, expectedRevision })
        expect(await read()).to.deep.equal(events)
      })
    }

    it('leaves a stream unchanged if the same events are appended at the same revision again', async () => {
      const begun = await append(ordinary(1))
      const events = await append(ordinary(3), begun.at(-1))
      const error = await opened.append([appendOf(events)]).catch((reason: unknown) => reason)
      // A store may accept or refuse the repetition; it must not append twice.
      if (error !== undefined) expect(error).to.be.instanceOf(WrongExpectedRevision)
      expect(await read()).to.deep.equal([...begun, ...events])
    })

    it('lets exactly one of several concurrent appends at one expected revision succeed', async () => {
      const begun = await append(ordinary(1))
      const rivals = Array.from({ length: 6 }, () => sealedAfter(stream, begun[0] as Envelope, ordinary(2)))
      const outcomes = await Promise.allSettled(rivals.map((events) => opened.append([appendOf(events)])))
      const winners = rivals.filter((_, position) => outcomes[position]?.status === 'fulfilled')
      expect(winners).to.have.length(1)
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expect(outcome.reason).to.be.instanceOf(WrongExpectedRevision)
      }
      expect(await read()).to.deep.equal([...begun, ...(winners[0] as Envelope[])])
    })

    it('reads 2,000 events in order, from any revision, and parts of them', async () => {
      let last: Envelope | null = null
      const ids: string[] = []
      for (let part = 0; part < 4; part++) {
        const events: Envelope[] = await append(ordinary(500), last)
        last = events.at(-1) as Envelope
        ids.push(...events.map((event) => event.id))
      }
      expect((await read()).map((event) => event.id)).to.deep.equal(ids)
      // At, before and after the ends of a store's read batches.
      for (const from of [499, 500, 501, 1000, 1999]) {
        const part = await read(from)
        expect(part.map((event) => event.id)).to.deep.equal(ids.slice(from))
        expect(part.map((event) => event.revision)).to.deep.equal(ids.map((_, position) => position).slice(from))
      }
      // Single ones, and many that are apart: more than a batch, a range or one read.
      for (const wanted of [[0], [1999], [3, 4, 5, 900, 1700], ids.flatMap((_, n) => (n % 3 === 1 ? [n] : []))]) {
        const picked = await collect(opened.store.pick(stream, wanted))
        expect(picked.map((event) => [event.revision, event.id])).to.deep.equal(wanted.map((n) => [n, ids[n]]))
      }
      const far = ids.flatMap((_, n) => (n % 97 === 0 ? [n] : []))
      expect((await collect(opened.store.pick(stream, far))).map(({ revision }) => revision)).to.deep.equal(far)
      expect(await collect(opened.store.pick(stream, []))).to.deep.equal([])
    })

    it('appends 3 MiB of 500 commands at once, complete and in order', async () => {
      const payload = 'ç'.repeat(3000)
      const sketches = Array.from({ length: 1000 }, (_, number) => ({
        data: { number, payload: number % 2 ? payload : '' },
      }))
      const events = sealedAfter(stream, null, sketches)
      expect(Buffer.byteLength(JSON.stringify(events))).to.be.above(3 * 1024 * 1024)
      const commands = Array.from({ length: 500 }, (_, number) => events.slice(number * 2, number * 2 + 2))
      await opened.append([{ stream, expectedRevision: -1, commands }])
      const stored = await read()
      expect(stored.map((event) => event.revision)).to.deep.equal(events.map((_, position) => position))
      expect(stored.map((event) => event.hash)).to.deep.equal(events.map((event) => event.hash))
      for (const { hash, ...rest } of stored) expect(hashEnvelope(rest)).to.equal(hash)
    })

    it('lists every company stream once', async () => {
      const mine = [stream, freshStream()]
      for (const each of mine) await opened.append([appendOf(sealedAfter(each, null, ordinary(3)))])
      const listed = await collect(opened.store.streams())
      expect(listed).to.include.members(mine)
      expect(new Set(listed).size).to.equal(listed.length)
      expect(listed.filter((each) => companyIdOfStream(each) === null)).to.deep.equal([])
    })
  })
}

/** Events of one stream as an append with one command each. */
export function appendOf(events: readonly Envelope[]): Append {
  const [first] = events as [Envelope]
  return { stream: first.stream, expectedRevision: first.revision - 1, commands: events.map((event) => [event]) }
}

/** Collects all items. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

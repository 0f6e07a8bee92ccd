import { expect } from 'chai'
import { companyIdOfStream, streamName } from '#ledger/command.ts'
import type { Note, OutsideStore } from '#ledger/port.ts'
import { appendOf, collect } from './event-store-contract.ts'
import { ordinary, sealedAfter } from './sealed-events.ts'

let nextCompany = Date.now() * 1000 + 500_000

/** Contract of a store outside Postgres beyond that of every event store: it publishes appends of all writers. */
export function describeOutsideStore(name: string, open: () => OutsideStore): void {
  describe(`store outside Postgres: ${name} [LEDGER-13]`, () => {
    let store: OutsideStore
    before(() => {
      store = open()
    })
    after(() => store.close())

    const append = async (count: number, stream = streamName(nextCompany++)): Promise<string> => {
      const events = sealedAfter(stream, null, ordinary(count))
      await store.append([appendOf(events)], { query: () => Promise.reject(new Error('has no transaction')) })
      return stream
    }
    /** The store may contain events of other tests. */
    const of = (streams: readonly string[], notes: readonly Note[]) =>
      notes.filter(({ stream }) => streams.includes(stream)).map(({ stream, revision }) => [stream, revision])
    const end = async (): Promise<string | null> => (await collect(store.notes(null))).at(-1)?.position ?? null

    it('answers a ping', () => store.ping())

    it('lists all events of companies, and no others, in the order of their appends', async () => {
      const streams = [await append(3), await append(2)]
      const notes = await collect(store.notes(null))
      expect(of(streams, notes)).to.deep.equal([
        [streams[0], 0],
        [streams[0], 1],
        [streams[0], 2],
        [streams[1], 0],
        [streams[1], 1],
      ])
      expect(notes.every(({ stream }) => companyIdOfStream(stream) !== null)).to.equal(true)
    })

    it('lists the events after a position, exclusive', async () => {
      const streams = [await append(700), await append(900)]
      const all = (await collect(store.notes(null))).filter(({ stream }) => streams.includes(stream))
      for (const place of [0, 699, 700, 1598]) {
        const rest = await collect(store.notes(all[place]?.position ?? null))
        expect(of(streams, rest)).to.deep.equal(of(streams, all.slice(place + 1)))
      }
      expect(await collect(store.notes(await end()))).to.deep.equal([])
    })

    it('sends a subscriber existing events first, then new ones, until it unsubscribes', async () => {
      const after = await end()
      const streams = [await append(3)]
      const leaving = new AbortController()
      const seen: Note[] = []
      for await (const note of store.subscribe(after, leaving.signal)) {
        seen.push(note)
        if (seen.length === 3) streams.push(await append(2))
        if (seen.length === 5) leaving.abort()
      }
      expect(of(streams, seen)).to.deep.equal([
        [streams[0], 0],
        [streams[0], 1],
        [streams[0], 2],
        [streams[1], 0],
        [streams[1], 1],
      ])
    })

    it('lets a waiting subscriber unsubscribe', async () => {
      const leaving = new AbortController()
      const waiting = collect(store.subscribe(await end(), leaving.signal))
      leaving.abort()
      expect(await waiting).to.deep.equal([])
    })
  })
}

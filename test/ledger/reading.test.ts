import { expect } from 'chai'
import fc from 'fast-check'
import type { Pool } from 'pg'
import { type Envelope, streamName } from '#ledger/command.ts'
import { EVENTS_OF_A_SCAN, type EventStore, type Search, search } from '#ledger/port.ts'
import { createPostgresStore } from '#ledger/stores/postgres-store.ts'
import { createPool } from '#postgres/pool.ts'
import { eventsOf, writeLedger } from '../integrity/audit/tampering.ts'
import { useDatabase } from '../support/database.ts'
import { createOutsideStore } from '../support/outside-store.ts'
import { explore } from '../support/random.ts'

const TYPES = ['CounterAdded', 'CounterReset', 'CounterRemoved']
const LENGTH = 60

describe('search in a ledger', () => {
  const database = useDatabase()
  let pool: Pool
  let companyId: number
  let events: Envelope[]
  const stores: [name: string, store: EventStore][] = []

  before(async () => {
    pool = createPool(database.url, { max: 2 })
    const sketches = Array.from({ length: LENGTH }, (_, n) => ({
      type: TYPES[(n * 7) % 3],
      subject: `counter/${1 + ((n * 5) % 4)}`,
    }))
    companyId = await writeLedger(pool, sketches as never)
    // A second ledger that must not appear.
    await writeLedger(pool, LENGTH)
    events = await eventsOf(pool, companyId)
    const outside = createOutsideStore()
    const append = { stream: streamName(companyId), expectedRevision: -1, commands: [events] }
    await outside.append([append], { query: () => Promise.reject(new Error('has no transaction')) })
    stores.push(['Postgres', createPostgresStore(pool)], ['one that cannot search by itself', outside])
  })
  after(() => pool.end())

  const wanted: fc.Arbitrary<Search> = fc.record({
    fromRevision: fc.nat({ max: LENGTH + 5 }),
    toRevision: fc.integer({ min: -1, max: LENGTH - 1 }),
    types: fc.option(fc.subarray([...TYPES, 'Unheard'], { minLength: 1 })),
    subject: fc.option(fc.constantFrom('counter/1', 'counter/4', 'counter/44')),
    limit: fc.integer({ min: 1, max: 9 }),
  })

  it('finds page by page exactly the matches of a full read, in every store', async () => {
    await explore(
      fc.asyncProperty(wanted, async (search_) => {
        const { fromRevision, toRevision, types, subject } = search_
        const expected = events.filter(
          (event) =>
            event.revision >= fromRevision &&
            event.revision <= toRevision &&
            (types === null || types.includes(event.type)) &&
            (subject === null || event.subject === subject),
        )
        for (const [name, store] of stores) {
          const found: Envelope[] = []
          let from = fromRevision
          do {
            const page = await search(store, streamName(companyId), { ...search_, fromRevision: from })
            expect(page.events.length).to.be.at.most(search_.limit)
            found.push(...page.events.map(({ json }) => JSON.parse(json) as Envelope))
            if (page.seenTo < toRevision) expect(page.events, name).to.have.length(search_.limit)
            from = page.seenTo + 1
          } while (from <= toRevision)
          expect(found, name).to.deep.equal(expected)
        }
      }),
      60,
    )
  })

  it('reads a bounded part of a stream at a time, and returns its position', async () => {
    const [template] = events
    let read = 0
    const endless: EventStore = {
      transactional: false,
      append: () => Promise.reject(new Error('nothing is appended here')),
      async *read(_stream, fromRevision) {
        for (let revision = fromRevision; ; revision++) {
          read += 1
          yield { ...(template as Envelope), revision }
        }
      },
      async *pick() {},
      async *streams() {},
    }
    const far = { toRevision: 10 * EVENTS_OF_A_SCAN, types: ['Unheard'], subject: null, limit: 5 }
    expect(await search(endless, 'company-1', { fromRevision: 100, ...far })).to.deep.equal({
      events: [],
      seenTo: 100 + EVENTS_OF_A_SCAN - 1,
    })
    expect(read).to.be.at.most(EVENTS_OF_A_SCAN + 1)
  })
})

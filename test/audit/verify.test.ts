import { expect } from 'chai'
import fc from 'fast-check'
import type { Pool } from 'pg'
import { v7 } from 'uuid'
import { verifyLedger } from '../../src/audit/verify.ts'
import type { Verification } from '../../src/audit/walk.ts'
import { GENESIS_HASH, streamOf } from '../../src/ledger/envelope.ts'
import type { EventStore } from '../../src/ledger/port.ts'
import { createPostgresStore } from '../../src/ledger/postgres.ts'
import { createPool } from '../../src/postgres/pool.ts'
import { sealedAfter } from '../ledger/sealed-events.ts'
import { useDatabase } from '../support/database.ts'
import { createOutsideStore } from '../support/outside-store.ts'
import {
  eventsOf,
  forgeTail,
  insertEvent,
  notePosition,
  rehashed,
  removeEvents,
  replaceEvent,
  writeLedger,
} from './tampering.ts'

const LENGTH = 7

describe('verification of a stored ledger', () => {
  const database = useDatabase()
  let pool: Pool
  let store: EventStore

  before(() => {
    pool = createPool(database.url, { max: 2 })
    store = createPostgresStore(pool)
  })
  after(() => pool.end())

  const verify = (companyId: number, options = {}): Promise<Verification> =>
    verifyLedger({ pool, store }, companyId, options)

  /** Where and how the ledger is wrong, as `2 wrong_hash`; and that all before it is right. */
  async function faultIn(companyId: number): Promise<string> {
    const { valid, checked, revision, first_error } = await verify(companyId)
    expect(valid).to.equal(first_error === null)
    expect(checked).to.equal(revision + 1)
    return first_error ? `${first_error.revision} ${first_error.reason}` : 'none'
  }

  /** Changes columns of the row of revision 3. */
  const set = (companyId: number, assignment: string, ...values: unknown[]) =>
    pool.query(`update ledger.events set ${assignment} where stream = $1 and revision = 3`, [
      streamOf(companyId),
      ...values,
    ])

  const edit = (companyId: number, pattern: string, replacement: string) =>
    set(companyId, 'envelope = regexp_replace(envelope::text, $2, $3)::json', pattern, replacement)

  it('finds nothing in one that nobody touched, whatever its length', async () => {
    // 200 rows are fetched at a time.
    for (const length of [0, 1, 2, 199, 200, 201, 450]) {
      const companyId = await writeLedger(pool, length)
      const last = (await eventsOf(pool, companyId)).at(-1)
      expect(await verify(companyId)).to.deep.equal({
        valid: true,
        checked: length,
        revision: length - 1,
        hash: last?.hash ?? GENESIS_HASH,
        first_error: null,
      })
    }
  })

  it('understands every text that an event can hold', async () => {
    const texts = ['São "João" \\ / 😀\n\u000f\u2028\u2029', '\ufb33', '', '__proto__', ' ']
    const companyId = await writeLedger(
      pool,
      texts.map((text) => ({ data: { id: 1, [text]: text, nested: [{ [text]: null }, 0.1, -1] } })),
    )
    expect(await faultIn(companyId)).to.equal('none')
  })

  const tamperings: Record<string, [found: string, tamper: (companyId: number) => Promise<unknown>]> = {
    'a value in its data': ['3 wrong_hash', (id) => edit(id, '"by":3', '"by":30')],
    'its time': ['3 wrong_hash', (id) => edit(id, '"recorded_at":"2026', '"recorded_at":"2027')],
    'its author': ['3 wrong_hash', (id) => edit(id, '"actor":null', '"actor":"user/1"')],
    'its id': ['3 wrong_hash', (id) => edit(id, '"id":"0', '"id":"1')],
    'its hash': ['3 wrong_hash', (id) => edit(id, '"hash":"..', '"hash":"zz')],
    'its link to the one before': ['3 wrong_hash', (id) => edit(id, '"previous_hash":"..', '"previous_hash":"zz')],
    'its revision': ['3 wrong_revision', (id) => edit(id, '"revision":3', '"revision":4')],
    'its stream': ['3 wrong_stream', (id) => edit(id, '"stream":"company-', '"stream":"company-9')],
    'a member that was empty, by leaving it out': ['3 malformed', (id) => edit(id, '"actor":null,', '')],
    'its members, by one more': ['3 malformed', (id) => edit(id, '"actor":null', '"actor":null,"note":null')],
    'its text, with a member twice': ['3 malformed', (id) => edit(id, '"by":3', '"by":30,"by":3')],
    'its text, with blanks': ['3 malformed', (id) => edit(id, '"by":3', '"by": 3')],
    'everything, to something else': ['3 malformed', (id) => set(id, `envelope = '[1]'`)],
    'the column revision': ['3 wrong_revision', (id) => set(id, 'revision = 100')],
    'the column stream': ['3 wrong_revision', (id) => set(id, `stream = 'company-0'`)],
    'the column id': ['3 columns_differ', (id) => set(id, 'id = $2', v7())],
    'the column type': ['3 columns_differ', (id) => set(id, `type = 'Other'`)],
    'the column subject': ['3 columns_differ', (id) => set(id, `subject = 'counter/9'`)],
    'the column recorded_at, by a microsecond': [
      '3 columns_differ',
      (id) => set(id, `recorded_at = recorded_at + interval '1 microsecond'`),
    ],
    'the column recorded_at, to no time at all': ['3 columns_differ', (id) => set(id, `recorded_at = 'infinity'`)],
  }

  for (const [what, [found, tamper]] of Object.entries(tamperings)) {
    it(`finds that somebody altered ${what}`, async () => {
      const companyId = await writeLedger(pool, LENGTH)
      await tamper(companyId)
      expect(await faultIn(companyId)).to.equal(found)
    })
  }

  it('finds that an event was altered and hashed again', async () => {
    const companyId = await writeLedger(pool, LENGTH)
    const event = (await eventsOf(pool, companyId))[3]
    if (event) await replaceEvent(pool, companyId, 3, rehashed(event, { data: { id: 1, by: 1_000 } }))
    expect(await faultIn(companyId)).to.equal('4 broken_chain')
  })

  it('finds that time went back, in a chain that fits', async () => {
    const companyId = await writeLedger(pool, LENGTH)
    await forgeTail(pool, companyId, 3, () => ({ recorded_at: '2020-01-01T00:00:00.000Z' }))
    expect(await faultIn(companyId)).to.equal('3 time_goes_back')
  })

  it('finds that an event was removed: the first, one within, several, all', async () => {
    for (const [from, to, found] of [
      [0, 0, '0 wrong_revision'],
      [3, 3, '3 wrong_revision'],
      [2, 4, '2 wrong_revision'],
      [0, 6, '0 truncated'],
    ] as const) {
      const companyId = await writeLedger(pool, LENGTH)
      await removeEvents(pool, companyId, from, to)
      expect(await faultIn(companyId)).to.equal(found)
    }
  })

  it('finds that an event was removed and those after it moved up, with or without fitting hashes', async () => {
    for (const fitting of [false, true]) {
      const companyId = await writeLedger(pool, LENGTH)
      const events = await eventsOf(pool, companyId)
      await removeEvents(pool, companyId, 3, LENGTH)
      let previous = events[2]
      for (const event of events.slice(4)) {
        const revision = event.revision - 1
        const moved = { ...event, revision }
        previous = fitting ? rehashed(moved, { previous_hash: previous?.hash ?? '' }) : moved
        await insertEvent(pool, companyId, revision, previous)
      }
      expect(await faultIn(companyId)).to.equal(fitting ? '6 truncated' : '3 wrong_hash')
    }
  })

  it('finds that events changed places', async () => {
    const companyId = await writeLedger(pool, LENGTH)
    const [, , two, three] = await eventsOf(pool, companyId)
    if (!two || !three) throw new Error('the ledger is too short')
    await replaceEvent(pool, companyId, 2, three)
    await replaceEvent(pool, companyId, 3, two)
    expect(await faultIn(companyId)).to.equal('2 wrong_revision')
    await replaceEvent(pool, companyId, 2, { ...three, revision: 2 })
    await replaceEvent(pool, companyId, 3, { ...two, revision: 3 })
    expect(await faultIn(companyId)).to.equal('2 wrong_hash')
    await replaceEvent(pool, companyId, 2, rehashed(three, { revision: 2 }))
    expect(await faultIn(companyId)).to.equal('2 broken_chain')
  })

  it('finds that an event was inserted: before the first, at the end, far beyond it', async () => {
    for (const [revision, found] of [
      [-1, '0 wrong_revision'],
      [-(2 ** 62), '0 wrong_revision'],
      [LENGTH, `${LENGTH} beyond_head`],
      [LENGTH + 5, `${LENGTH} columns_differ`],
      [2 ** 62, `${LENGTH} columns_differ`],
    ] as const) {
      const companyId = await writeLedger(pool, LENGTH)
      const events = await eventsOf(pool, companyId)
      const [extra] = sealedAfter(streamOf(companyId), events.at(-1) ?? null, [{}])
      if (extra) await insertEvent(pool, companyId, revision, extra)
      const { valid, first_error } = await verify(companyId)
      expect(valid).to.equal(false)
      expect(`${first_error?.revision} ${first_error?.reason}`).to.equal(found)
    }
  })

  it('finds that an event was inserted in the middle and the others moved down', async () => {
    const companyId = await writeLedger(pool, LENGTH)
    const events = await eventsOf(pool, companyId)
    const [extra] = sealedAfter(streamOf(companyId), events[2] ?? null, [{ data: { id: 1, by: 99 } }])
    await removeEvents(pool, companyId, 3, LENGTH)
    for (const [n, event] of [extra, ...events.slice(3)].entries())
      if (event) await insertEvent(pool, companyId, 3 + n, { ...event, revision: 3 + n })
    expect(await faultIn(companyId)).to.equal('4 wrong_hash')
  })

  it('finds a tail that was cut off or forged as long as the position of the ledger was left alone', async () => {
    const cut = await writeLedger(pool, LENGTH)
    await removeEvents(pool, cut, 5, LENGTH)
    expect(await faultIn(cut)).to.equal('5 truncated')

    const forged = await writeLedger(pool, LENGTH)
    await forgeTail(pool, forged, 4, () => ({ data: { id: 1, by: 1_000 } }))
    expect((await verify(forged)).first_error).to.deep.equal({ revision: LENGTH - 1, reason: 'other_hash' })
  })

  it('cannot find them when the position was forged too: that takes what is kept outside, a seal', async () => {
    const cut = await writeLedger(pool, LENGTH)
    const kept = (await eventsOf(pool, cut)).at(-1)
    await removeEvents(pool, cut, 5, LENGTH)
    await notePosition(pool, cut, (await eventsOf(pool, cut)).at(-1) as never)
    expect(await faultIn(cut)).to.equal('none')
    expect((await verify(cut, { anchors: [kept] })).first_error).to.deep.equal({ revision: 5, reason: 'truncated' })

    const forged = await writeLedger(pool, LENGTH)
    const anchor = (await eventsOf(pool, forged))[5]
    await forgeTail(pool, forged, 4, () => ({ data: { id: 1, by: 1_000 } }))
    await notePosition(pool, forged, (await eventsOf(pool, forged)).at(-1) as never)
    expect(await faultIn(forged)).to.equal('none')
    const held = await verify(forged, { anchors: [anchor] })
    expect(held.first_error).to.deep.equal({ revision: 5, reason: 'other_hash' })
    // What was sealed before the forgery began says nothing of it.
    expect((await verify(forged, { anchors: [(await eventsOf(pool, forged))[3]] })).valid).to.equal(true)
  })

  it('cannot meet two anchors that contradict each other', async () => {
    const companyId = await writeLedger(pool, LENGTH)
    const [event] = await eventsOf(pool, companyId)
    const anchors = [event, { revision: 0, hash: 'f'.repeat(64) }]
    expect((await verify(companyId, { anchors })).first_error).to.deep.equal({ revision: 0, reason: 'other_hash' })
    expect((await verify(companyId, { anchors: anchors.reverse() })).valid).to.equal(false)
  })

  it('finds whatever is changed anywhere in a stored event', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: LENGTH - 1 }),
        fc.nat(),
        fc.constantFrom('replace', 'insert', 'remove'),
        fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 1 }),
        async (revision, place, how, character) => {
          const companyId = await writeLedger(pool, LENGTH)
          const before = JSON.stringify((await eventsOf(pool, companyId))[revision])
          const at = place % before.length
          const rest = before.slice(how === 'insert' ? at : at + 1)
          const after = before.slice(0, at) + (how === 'remove' ? '' : character) + rest
          fc.pre(after !== before && isJson(after))
          await pool.query('update ledger.events set envelope = $3 where stream = $1 and revision = $2', [
            streamOf(companyId),
            revision,
            after,
          ])
          expect((await verify(companyId)).valid, after).to.equal(false)
        },
      ),
      { numRuns: 150 },
    )
  })

  it('goes on while events are appended, and ends at a whole ledger', async () => {
    const companyId = await writeLedger(pool, 300)
    const events = await eventsOf(pool, companyId)
    const more = sealedAfter(streamOf(companyId), events.at(-1) ?? null, [{}, {}])
    let appended = false
    const growing: EventStore = {
      ...store,
      async *stored(stream, after) {
        for await (const event of store.stored?.(stream, after) ?? []) {
          yield event
          if (appended) continue
          appended = true
          for (const each of more) await insertEvent(pool, companyId, each.revision, each)
          await notePosition(pool, companyId, more.at(-1) as never)
        }
      },
    }
    const found = await verifyLedger({ pool, store: growing }, companyId)
    expect(found).to.include({ valid: true, checked: 302 })
  })

  it('takes an outside store as it reads, where more may stand than the read model has seen', async () => {
    const outside = createOutsideStore()
    const companyId = await writeLedger(pool, 2)
    const known = await eventsOf(pool, companyId)
    const more = sealedAfter(streamOf(companyId), known.at(-1) ?? null, [{}])
    const append = { stream: streamOf(companyId), expectedRevision: -1, commands: [[...known, ...more]] }
    await outside.append([append], { query: () => Promise.reject(new Error('has no transaction')) })
    const found = await verifyLedger({ pool, store: outside }, companyId)
    expect(found).to.include({ valid: true, checked: 3 })
    const event = outside.events(streamOf(companyId))[1] as { data: object }
    event.data = { id: 1, by: 5 }
    const altered = await verifyLedger({ pool, store: outside }, companyId)
    expect(altered.first_error).to.deep.equal({ revision: 1, reason: 'wrong_hash' })
  })
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

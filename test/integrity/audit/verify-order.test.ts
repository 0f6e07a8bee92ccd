import { expect } from 'chai'
import { streamOf } from '#ledger/command.ts'
import { sealedAfter } from '../../ledger/sealed-events.ts'
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
import { useVerifying } from './verifying.ts'

const LENGTH = 7

describe('verification of the order of a stored ledger', () => {
  const ledgers = useVerifying()
  const { verify, faultIn } = ledgers

  it('finds that time went back in a chain with valid hashes [AUDIT-2]', async () => {
    const companyId = await writeLedger(ledgers.pool, LENGTH)
    await forgeTail(ledgers.pool, companyId, 3, () => ({ recorded_at: '2020-01-01T00:00:00.000Z' }))
    expect(await faultIn(companyId)).to.equal('3 time_goes_back')
  })

  it('finds removed events: the first, one in the middle, several, all [AUDIT-1]', async () => {
    for (const [from, to, found] of [
      [0, 0, '0 wrong_revision'],
      [3, 3, '3 wrong_revision'],
      [2, 4, '2 wrong_revision'],
      [0, 6, '0 truncated'],
    ] as const) {
      const companyId = await writeLedger(ledgers.pool, LENGTH)
      await removeEvents(ledgers.pool, companyId, from, to)
      expect(await faultIn(companyId)).to.equal(found)
    }
  })

  it('finds a removed event if later ones were renumbered, with or without valid hashes [AUDIT-1]', async () => {
    for (const fitting of [false, true]) {
      const companyId = await writeLedger(ledgers.pool, LENGTH)
      const events = await eventsOf(ledgers.pool, companyId)
      await removeEvents(ledgers.pool, companyId, 3, LENGTH)
      let previous = events[2]
      for (const event of events.slice(4)) {
        const revision = event.revision - 1
        const moved = { ...event, revision }
        previous = fitting ? rehashed(moved, { previous_hash: previous?.hash ?? '' }) : moved
        await insertEvent(ledgers.pool, companyId, revision, previous)
      }
      expect(await faultIn(companyId)).to.equal(fitting ? '6 truncated' : '3 wrong_hash')
    }
  })

  it('finds swapped events [AUDIT-1]', async () => {
    const companyId = await writeLedger(ledgers.pool, LENGTH)
    const [, , two, three] = await eventsOf(ledgers.pool, companyId)
    if (!two || !three) throw new Error('the ledger is too short')
    await replaceEvent(ledgers.pool, companyId, 2, three)
    await replaceEvent(ledgers.pool, companyId, 3, two)
    expect(await faultIn(companyId)).to.equal('2 wrong_revision')
    await replaceEvent(ledgers.pool, companyId, 2, { ...three, revision: 2 })
    await replaceEvent(ledgers.pool, companyId, 3, { ...two, revision: 3 })
    expect(await faultIn(companyId)).to.equal('2 wrong_hash')
    await replaceEvent(ledgers.pool, companyId, 2, rehashed(three, { revision: 2 }))
    expect(await faultIn(companyId)).to.equal('2 broken_chain')
  })

  it('finds an inserted event: before the first, at the end, far beyond it [AUDIT-1]', async () => {
    for (const [revision, found] of [
      [-1, '0 wrong_revision'],
      [-(2 ** 62), '0 wrong_revision'],
      [LENGTH, `${LENGTH} beyond_head`],
      [LENGTH + 5, `${LENGTH} columns_differ`],
      [2 ** 62, `${LENGTH} columns_differ`],
    ] as const) {
      const companyId = await writeLedger(ledgers.pool, LENGTH)
      const events = await eventsOf(ledgers.pool, companyId)
      const [extra] = sealedAfter(streamOf(companyId), events.at(-1) ?? null, [{}])
      if (extra) await insertEvent(ledgers.pool, companyId, revision, extra)
      const { valid, first_error } = await verify(companyId)
      expect(valid).to.equal(false)
      expect(`${first_error?.revision} ${first_error?.reason}`).to.equal(found)
    }
  })

  it('finds an event inserted in the middle if later ones were renumbered [AUDIT-1]', async () => {
    const companyId = await writeLedger(ledgers.pool, LENGTH)
    const events = await eventsOf(ledgers.pool, companyId)
    const [extra] = sealedAfter(streamOf(companyId), events[2] ?? null, [{ data: { id: 1, by: 99 } }])
    await removeEvents(ledgers.pool, companyId, 3, LENGTH)
    for (const [n, event] of [extra, ...events.slice(3)].entries())
      if (event) await insertEvent(ledgers.pool, companyId, 3 + n, { ...event, revision: 3 + n })
    expect(await faultIn(companyId)).to.equal('4 wrong_hash')
  })

  it('finds a truncated or forged tail if the position of the ledger is unchanged [AUDIT-2]', async () => {
    const cut = await writeLedger(ledgers.pool, LENGTH)
    await removeEvents(ledgers.pool, cut, 5, LENGTH)
    expect(await faultIn(cut)).to.equal('5 truncated')

    const forged = await writeLedger(ledgers.pool, LENGTH)
    await forgeTail(ledgers.pool, forged, 4, () => ({ data: { id: 1, by: 1_000 } }))
    expect((await verify(forged)).first_error).to.deep.equal({ revision: LENGTH - 1, reason: 'other_hash' })
  })

  it('cannot find them if the position was forged too: that requires an external seal', async () => {
    const cut = await writeLedger(ledgers.pool, LENGTH)
    const kept = (await eventsOf(ledgers.pool, cut)).at(-1)
    await removeEvents(ledgers.pool, cut, 5, LENGTH)
    await notePosition(ledgers.pool, cut, (await eventsOf(ledgers.pool, cut)).at(-1) as never)
    expect(await faultIn(cut)).to.equal('none')
    expect((await verify(cut, { anchors: [kept!] })).first_error).to.deep.equal({ revision: 5, reason: 'truncated' })

    const forged = await writeLedger(ledgers.pool, LENGTH)
    const anchor = (await eventsOf(ledgers.pool, forged))[5]
    await forgeTail(ledgers.pool, forged, 4, () => ({ data: { id: 1, by: 1_000 } }))
    await notePosition(ledgers.pool, forged, (await eventsOf(ledgers.pool, forged)).at(-1) as never)
    expect(await faultIn(forged)).to.equal('none')
    const held = await verify(forged, { anchors: [anchor!] })
    expect(held.first_error).to.deep.equal({ revision: 5, reason: 'other_hash' })
    // A seal from before the forgery does not detect it.
    expect((await verify(forged, { anchors: [(await eventsOf(ledgers.pool, forged))[3]!] })).valid).to.equal(true)
  })

  it('fails for two anchors that contradict each other', async () => {
    const companyId = await writeLedger(ledgers.pool, LENGTH)
    const [event] = await eventsOf(ledgers.pool, companyId)
    const anchors = [event!, { revision: 0, hash: 'f'.repeat(64) }]
    expect((await verify(companyId, { anchors })).first_error).to.deep.equal({ revision: 0, reason: 'other_hash' })
    expect((await verify(companyId, { anchors: anchors.reverse() })).valid).to.equal(false)
  })
})

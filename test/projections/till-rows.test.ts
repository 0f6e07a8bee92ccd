import { expect } from 'chai'
import { event } from '#events/catalogue.ts'
import type { NewEvent } from '#ledger/command.ts'
import { gapsIn, tillById, tillElement, withRange } from '#projections/tills.ts'
import { companyRegistered } from '../support/facts.ts'
import { given } from '../support/given.ts'

const hash = (digit: string) => digit.repeat(64)
const came = (number: number, fields: object = {}) =>
  event('TillElementReceived', {
    ...{ id: 5, number, hash: hash('a'), content_hash: hash('c'), previous: hash('b'), warnings: [] },
    ...fields,
  })
const after = (...events: NewEvent[]) =>
  given(companyRegistered(), event('TillRegistered', { id: 5, name: 'Balcão', x: 'x', y: 'y' }), ...events)
const tillAfter = async (...events: NewEvent[]) => (await (await after(...events)).rows(tillById(5))).get(tillById(5))

describe('tills projection', () => {
  it('begins with nothing, and the till’s number is its id', async () => {
    const till = await tillAfter()
    expect(till).to.include({ ended_at: null, reported_number: 0, x: 'x', y: 'y' })
    expect(till?.doc).to.deep.include({ id: 5, number: 5, name: 'Balcão', settled: [], told: [] })
  })

  it('joins numbers that come in any order, and those that were given up', async () => {
    const till = await tillAfter(came(1), came(5), came(3))
    expect(till?.doc.settled).to.deep.equal([
      [1, 1],
      [3, 3],
      [5, 5],
    ])
    expect(gapsIn(till?.doc.settled ?? [], 7)).to.deep.equal([
      [2, 2],
      [4, 4],
      [6, 7],
    ])
    const lost = await tillAfter(
      ...[came(1), came(5), came(3)],
      event('TillElementsGivenUp', { id: 5, from: 2, to: 4, reason: 'Queimou' }),
    )
    expect(lost?.doc.settled).to.deep.equal([[1, 5]])
  })

  it('remembers what was told of gaps, and tells none again', async () => {
    const till = await tillAfter(came(1), event('TillGapDetected', { id: 5, missing: [[2, 6]] }))
    expect(till).to.include({ reported_number: 6 })
    expect(till?.doc).to.deep.include({ told: [[2, 6]], settled: [[1, 1]] })
    expect(await tillAfter(came(9), came(2))).to.include({ reported_number: 9 })
  })

  it('keeps an element from paper without digests, and marks the next one of a broken chain', async () => {
    const scenario = await after(came(2), came(1, { content_hash: null, previous: null, breaks_next: true }))
    const rows = await scenario.rows(tillElement(5, 1), tillElement(5, 2))
    expect(rows.get(tillElement(5, 1))).to.include({ content_hash: null, previous: null })
    expect(rows.get(tillElement(5, 2))?.warnings).to.deep.equal(['till_chain'])
  })

  it('ends at the time of the event, and keeps its gaps', async () => {
    const till = await tillAfter(came(2), event('TillEnded', { id: 5 }))
    expect(till?.ended_at).to.equal('2026-03-10T15:03:00.000Z')
    expect(gapsIn(till?.doc.settled ?? [], 2)).to.deep.equal([[1, 1]])
  })

  it('has ranges without overlaps or neighbours', () => {
    expect(withRange([[1, 2]], [3, 4])).to.deep.equal([[1, 4]])
    expect(
      withRange(
        [
          [1, 2],
          [9, 9],
        ],
        [2, 8],
      ),
    ).to.deep.equal([[1, 9]])
    expect(withRange([[5, 6]], [1, 2])).to.deep.equal([
      [1, 2],
      [5, 6],
    ])
  })
})

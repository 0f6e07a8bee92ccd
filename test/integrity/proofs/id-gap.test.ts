import { expect } from 'chai'
import fc from 'fast-check'
import { idFloor } from '#integrity/restore.ts'

const DAY_MS = 86_400_000
const START_MS = Date.parse('2026-01-01T00:00:00.000Z')
const at = (ms: number) => new Date(START_MS + ms).toISOString()

describe('ids after a restore', () => {
  it('continue beyond all issued ids, even if events came ten times as fast as before [OPS-84]', () => {
    const history = fc.record({
      days: fc.integer({ min: 1, max: 2_000 }),
      perDay: fc.integer({ min: 1, max: 100_000 }),
      lostHours: fc.integer({ min: 0, max: 200 }),
      rush: fc.integer({ min: 0, max: 10 }),
      given: fc.dictionary(fc.constantFrom('sale', 'order', 'customer'), fc.integer({ min: 1, max: 1_000_000 })),
    })
    fc.assert(
      fc.property(history, ({ days, perDay, lostHours, rush, given }) => {
        const lost_after = at(days * DAY_MS)
        const restored_at = at(days * DAY_MS + (lostHours * DAY_MS) / 24)
        const lost = { events: days * perDay, first_at: at(0), lost_after, restored_at, sealed: 0 }
        const beyond = idFloor(['sale', 'order', 'customer', 'store'], given, lost)
        // Every issued id has an event.
        const lostEvents = Math.floor((perDay * rush * lostHours) / 24)
        for (const kind of ['sale', 'order', 'customer', 'store'])
          expect(beyond[kind]).to.be.at.least((given[kind] ?? 0) + lostEvents)
      }),
    )
  })

  it('leave a gap for all sealed events that are lost [OPS-84]', () => {
    const same = { first_at: at(0), lost_after: at(DAY_MS), restored_at: at(DAY_MS) }
    expect(idFloor(['sale'], { sale: 7 }, { ...same, events: 3, sealed: 50_000 })).to.deep.equal({ sale: 50_007 })
    expect(idFloor(['sale'], {}, { ...same, events: 3, sealed: 0 })).to.deep.equal({ sale: 10_000 })
  })
})

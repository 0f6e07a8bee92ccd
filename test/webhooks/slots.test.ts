import { expect } from 'chai'
import { type Flight, Slots } from '#webhooks/slots.ts'

const flight = (webhookId: number, given: Partial<Flight> = {}): Flight => ({
  webhookId,
  failing: false,
  startedAt: 0,
  ...given,
})

describe('slots of attempts', () => {
  it('offer everything when nothing is under way', () => {
    expect(new Slots().room(0)).to.deep.equal({ sound: 256, strained: 64, busy: {} })
  })

  it('count attempts by address until they are released, once', () => {
    const slots = new Slots()
    const [one, other] = [flight(7), flight(7)]
    for (const each of [one, other, flight(8)]) slots.take(each)
    expect(slots.room(0).busy).to.deep.equal({ 7: { flights: 2, slow: false }, 8: { flights: 1, slow: false } })
    slots.release(one)
    slots.release(one)
    expect(slots.room(0)).to.deep.include({
      sound: 254,
      busy: { 7: { flights: 1, slow: false }, 8: { flights: 1, slow: false } },
    })
    slots.release(other)
    expect(slots.room(0).busy).to.have.keys('8')
    expect(slots.count).to.equal(1)
  })

  it('keep what addresses that fail take apart from the rest', () => {
    const slots = new Slots()
    for (let address = 1; address <= 64; address++) slots.take(flight(address, { failing: true }))
    expect(slots.room(0)).to.include({ sound: 256, strained: 0 })
  })

  it('give back what an address holds that turned out slow', () => {
    const slots = new Slots()
    for (let n = 0; n < 32; n++) slots.take(flight(7))
    expect(slots.room(1_000)).to.include({ sound: 224, strained: 64 })
    const later = slots.room(1_001)
    expect(later).to.include({ sound: 256, strained: 32 })
    expect(later.busy[7]).to.deep.equal({ flights: 32, slow: true })
  })

  it('are bounded altogether, however many addresses turn slow', () => {
    const slots = new Slots()
    for (let address = 1; address <= 16; address++) for (let n = 0; n < 32; n++) slots.take(flight(address))
    expect(slots.room(2_000)).to.include({ sound: 0, strained: 0 })
  })
})

import { expect } from 'chai'
import { callsOfMinute, isTold, placesOfSizes, randomOf, sizeOf } from '../../bench/day/schedule.ts'
import { Tally } from '../../bench/day/tally.ts'
import { callsADay, HABITS, meanOf, SIZES } from '../../bench/model/workload.ts'

const day = { companies: 2_000, share: 1, seed: 22 }
const places = placesOfSizes(day.companies)
const dayOf = (options: typeof day) =>
  Array.from({ length: 24 }, (_, hour) => callsOfMinute(options, places, hour * 60 + 30)).flat()

describe('simulated day', () => {
  it('is equal for equal seeds, and differs for others', () => {
    expect(dayOf(day)).to.deep.equal(dayOf(day))
    expect(dayOf({ ...day, seed: 23 })).to.not.deep.equal(dayOf(day))
  })

  it('is in order of time, with calls to existing companies only', () => {
    for (let minute = 0; minute < 1_440; minute += 97) {
      const calls = callsOfMinute(day, places, minute)
      expect(calls.map(({ at }) => at)).to.deep.equal(calls.map(({ at }) => at).sort((a, b) => a - b))
      expect(calls.every(({ company }) => company >= 0 && company < day.companies)).to.equal(true)
    }
  })

  it('has as many calls as the model counts, or the requested share of them', () => {
    const sales = (share: number) => {
      let count = 0
      for (let minute = 0; minute < 1_440; minute++)
        count += callsOfMinute({ ...day, share }, places, minute).filter(({ kind }) => kind === 'sale').length
      return count
    }
    const expected = day.companies * meanOf(SIZES, (size) => callsADay(size, HABITS).sale)
    expect(sales(1)).to.be.closeTo(expected, expected * 0.02)
    expect(sales(0.1)).to.be.closeTo(expected * 0.1, expected * 0.01)
  })

  it('has companies of all sizes by their shares, and their shares of webhook subscribers', () => {
    for (const [index, { share, integrators }] of SIZES.entries()) {
      const own = Array.from({ length: 20_000 }, (_, place) => place).filter((place) => sizeOf(place) === index)
      expect(own.length / 20_000, SIZES[index]?.name).to.be.closeTo(share, 0.002)
      expect(own.filter(isTold).length / own.length).to.be.closeTo(Math.min(1, integrators), 0.05)
    }
  })

  it('draws numbers uniformly', () => {
    const random = randomOf(1)
    const numbers = Array.from({ length: 10_000 }, random)
    expect(numbers.reduce((sum, each) => sum + each, 0) / 10_000).to.be.closeTo(0.5, 0.02)
    expect(numbers.every((each) => each >= 0 && each < 1)).to.equal(true)
  })

  it('reports percentiles within 5 %, and refusals by reason', () => {
    const tally = new Tally()
    for (let ms = 1; ms <= 1_000; ms++) tally.answered(ms)
    tally.answered(null)
    tally.refused('503 service_unavailable')
    expect(tally.percentile(0.5) / 500).to.be.within(1, 1.06)
    expect(tally.percentile(0.99) / 990).to.be.within(1, 1.06)
    expect(tally).to.include({ count: 1_001, refusedCount: 1 })
    expect(new Tally().percentile(0.5)).to.be.NaN
  })
})

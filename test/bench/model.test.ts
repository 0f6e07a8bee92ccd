import { expect } from 'chai'
import fc from 'fast-check'
import { ASSUMPTIONS } from '../../bench/model/assumptions.ts'
import { MEASURED } from '../../bench/model/measured.ts'
import { type Assumptions, type Cost, costAt, type Measured, plan, ratesAt, timeOf } from '../../bench/model/model.ts'
import {
  callsADay,
  HABITS,
  KINDS,
  MINUTES_A_DAY,
  meanOf,
  perKind,
  SIZES,
  type Size,
  shareOfMinute,
} from '../../bench/model/workload.ts'

const WORKLOAD = { sizes: SIZES, habits: HABITS }
/** One sale per day and company, from a till. */
const ONE_SALE: Size = { name: 'one', share: 1, salesADay: 1, tills: 0, integrators: 0, visitsADay: 0 }
const ONLY_SALES = { sizes: [ONE_SALE], habits: { ...HABITS, soldByApi: 1 } }

const free: Cost = {
  alone: { service_us: 0, postgres_us: 0 },
  crowded: { service_us: 0, postgres_us: 0 },
  crowd: 32,
  alone_ms: 1,
}
const steady = (service_us: number, postgres_us: number): Cost => {
  const time = { service_us, postgres_us }
  return { ...free, alone: time, crowded: time }
}
const measuredWith = (sale: Cost): Measured => ({
  of: 'test',
  costs: perKind((kind) => (kind === 'sale' ? sale : free)),
  idle: { service_us: 0, postgres_us: 0 },
  bytesASale: 1_000,
  passingBytesASale: 0,
  walBytesASale: 2_000,
})
const assumptions: Assumptions = {
  ...ASSUMPTIONS,
  utilisation: 0.5,
  coresOfShard: 8,
  serversOfShard: 1,
  days: 100,
  usualDay: 1,
  walDays: 10,
  connections: 18,
  coreSpeed: 1,
  prices: { asOf: '2026-11-22', core: 10, gigabyteOfDisk: 1, gigabyteOfArchive: 1 },
}

describe('capacity model', () => {
  it('distributes a day over its minutes: shares of sizes and of minutes add up to 1', () => {
    expect(meanOf(SIZES, () => 1)).to.be.closeTo(1, 1e-9)
    for (const kind of KINDS) {
      const minutes = Array.from({ length: MINUTES_A_DAY }, (_, minute) => shareOfMinute(kind, minute))
      expect(
        minutes.reduce((sum, share) => sum + share, 0),
        kind,
      ).to.be.closeTo(1, 1e-9)
      expect(Math.min(...minutes), kind).to.be.at.least(0)
    }
  })

  it('counts the operations of a company per day', () => {
    const size = { name: '', share: 1, salesADay: 100, tills: 2, integrators: 0.5, visitsADay: 3 }
    expect(
      callsADay(size, { ...HABITS, soldByApi: 0.25, uploadedAtOnce: 5, pollMinutes: 10, pagesAVisit: 4 }),
    ).to.deep.equal({
      sale: 25,
      upload: 15,
      opening: 2,
      poll: 72,
      page: 12,
      report: 0.5 * HABITS.reportsAtMonthEnd,
      delivery: 50,
      // 600 minutes of opening: 600 × (1 − e^(−100/600)).
      growth: 600 * (1 - Math.exp(-1 / 6)),
      check: 1,
    })
  })

  it('uses the cost measured alone for single calls, and that measured under load for concurrent ones', () => {
    const cost: Cost = {
      alone: { service_us: 4_000, postgres_us: 3_000 },
      crowded: { service_us: 1_000, postgres_us: 600 },
      crowd: 32,
      alone_ms: 10,
    }
    expect(costAt(cost, 0)).to.deep.equal(cost.alone)
    // 100 calls a second of 10 ms are one at a time; 3,200 are 32.
    expect(costAt(cost, 100)).to.deep.equal(cost.alone)
    expect(costAt(cost, 3_200)).to.deep.equal(cost.crowded)
    expect(costAt(cost, 1e9)).to.deep.equal(cost.crowded)
    // Two at a time share half of the shareable cost: 1000 - s/32 … with own + shared / n.
    const shared = (4_000 - 1_000) / (1 - 1 / 32)
    expect(costAt(cost, 200).service_us).to.be.closeTo(4_000 - shared / 2, 1e-6)
  })

  it('never needs less for more companies, sales, shards or idle processes', () => {
    const rates = (companies: number) => ratesAt(companies, WORKLOAD, 9 * 60)
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), fc.integer({ min: 0, max: 100_000 }), (companies, more) => {
        const at = (number: number, spread = { shards: 1, processes: 1 }) => {
          const { service_us, postgres_us } = timeOf(MEASURED, rates(number), spread)
          return service_us + postgres_us
        }
        expect(at(companies + more)).to.be.at.least(at(companies) - 1e-6)
        expect(at(companies, { shards: 2, processes: 1 })).to.be.at.least(at(companies))
        expect(at(companies, { shards: 1, processes: 2 })).to.be.at.least(at(companies))
      }),
      { numRuns: 60 },
    )
    const plans = [1_000, 20_000, 200_000, 1_000_000].map((companies) =>
      plan(companies, WORKLOAD, MEASURED, ASSUMPTIONS),
    )
    for (const figure of [
      'shards',
      'processes',
      'machines',
      'connections',
      'diskGigabytes',
      'dollarsAMonth',
    ] as const) {
      const figures = plans.map((each) => each[figure])
      expect(figures, figure).to.deep.equal(figures.toSorted((a, b) => a - b))
    }
  })

  it('matches a case computed by hand, with units', () => {
    // The busiest hour has 12 % of a day's sales: 1,080,000 × 0.12 / 3,600 s = 36 a second, of 50 ms + 100 ms each.
    const sized = plan(1_080_000, ONLY_SALES, measuredWith(steady(50_000, 100_000)), assumptions)
    expect(sized.salesADay).to.equal(1_080_000)
    expect(sized.callsASecond).to.be.closeTo(36, 1e-9)
    expect(sized.busiest).to.equal('12:00')
    // 1.8 and 3.6 busy cores, doubled for a utilisation of one half.
    expect(sized.serviceCores).to.be.closeTo(3.6, 1e-9)
    expect(sized.postgresCores).to.be.closeTo(7.2, 1e-9)
    expect(sized).to.include({ processes: 4, shards: 1, connections: 4 * 18 })
    expect(sized.diskGigabytes).to.be.closeTo(1.08 * 100, 1e-9)
    expect(sized.walGigabytesADay).to.be.closeTo(2.16, 1e-9)
    const servers = 8 + 2 * assumptions.coresOfServices
    expect(sized.dollarsAMonth).to.be.closeTo(servers * 10 + 108 + 21.6, 1e-6)
  })

  it('adds a shard if Postgres needs more cores than a machine has, and machines for replicas', () => {
    const costly = measuredWith(steady(1_000, 100_000))
    const one = plan(1_080_000, ONLY_SALES, costly, assumptions)
    const two = plan(1_080_000, ONLY_SALES, costly, { ...assumptions, coresOfShard: 4 })
    const withStandby = plan(1_080_000, ONLY_SALES, costly, { ...assumptions, serversOfShard: 2 })
    expect([one.shards, two.shards]).to.deep.equal([1, 2])
    expect(withStandby.machines).to.equal(one.machines + 1)
    expect(withStandby.dollarsAMonth).to.be.closeTo(one.dollarsAMonth + 8 * 10 + one.diskGigabytes, 1e-6)
  })
})

import { expect } from 'chai'
import fc from 'fast-check'
import { BOUNDS, MEASURED, needsOf, plan, SIZES } from '../../bench/plan.ts'

describe('plan', () => {
  it('knows all sizes of companies: their shares add up to 1', () => {
    expect(SIZES.reduce((sum, { share }) => sum + share, 0)).to.be.closeTo(1, 1e-9)
  })

  it('matches a case computed by hand, with units', () => {
    // 0.59 × 8 + 0.32 × 35 + 0.085 × 250 + 0.005 × 2,000 = 47.17 sales a day and company.
    const { sales, terabytes, logGigabytes, comparisonHours, rebuildHours } = plan(1_000)
    expect(sales).to.be.closeTo(47_170, 1e-6)
    const events = 47_170 * 0.7 * 365
    expect(terabytes).to.be.closeTo((events * 3_756 + 47_170 * 30 * 1_423) / 1e12, 1e-9)
    expect(logGigabytes).to.be.closeTo((47_170 * 7_833) / 1e9, 1e-9)
    // Two processes compare a fifth of the time: a day's events, and a 25th of the ledgers.
    const seconds = 47_170 / MEASURED.comparedChanges + events / 25 / MEASURED.compared
    expect(comparisonHours).to.be.closeTo(seconds / (2 * 0.2 * 3_600), 1e-9)
    expect(rebuildHours).to.be.closeTo(events / (MEASURED.rebuilt * 3_600), 1e-9)
  })

  it('counts idle processes where there is hardly a call: twice, because half of a core is used', () => {
    const { processes, serviceCores, cores, connections } = needsOf(1, '12:00')
    expect({ processes, connections }).to.deep.equal({ processes: 2, connections: 40 })
    expect(serviceCores).to.be.closeTo((2 * 2 * MEASURED.idle[0]) / 1e6, 0.001)
    expect(cores).to.be.closeTo((2 * 2 * MEASURED.idle[1]) / 1e6, 0.001)
  })

  it('needs the crowded cost of each call where calls are many', () => {
    // 1,000,000 companies: a fifth of 47.17 million sales, 12 % of them in the hour of noon.
    const perSecond = (0.2 * 47_170_000 * 0.12) / 3_600
    const { cores } = needsOf(1_000_000, '12:00')
    expect(cores).to.be.above((perSecond * MEASURED.calls.sale[3] * 2) / 1e6)
  })

  it('takes another installation where the tightest bound of one is exceeded, and names it', () => {
    for (const companies of [1_000, 100_000, 1_000_000]) {
      const needs = plan(companies)
      expect(needs.installations).to.equal(Math.ceil(needs[needs.tightest] / BOUNDS[needs.tightest]))
      for (const [bound, most] of Object.entries(BOUNDS))
        expect(needs[bound as keyof typeof BOUNDS] / needs.installations, bound).to.be.at.most(most)
    }
    expect(plan(1_000).installations).to.equal(1)
  })

  it('never needs less for more companies', () => {
    const figures = ['sales', 'processes', 'connections', 'terabytes', 'rebuildHours', 'installations'] as const
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), fc.integer({ min: 0, max: 100_000 }), (companies, more) => {
        const [fewer, all] = [plan(companies), plan(companies + more)]
        for (const figure of figures) expect(all[figure], figure).to.be.at.least(fewer[figure])
        expect(all.cores + all.serviceCores).to.be.at.least(fewer.cores + fewer.serviceCores - 1e-6)
      }),
      { numRuns: 60 },
    )
  })
})

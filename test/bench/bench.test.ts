import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import fc from 'fast-check'
import { costOf, perOperation, type Spent } from '../../bench/cost.ts'
import { priceSale, SaleBody, saleObject } from '../../bench/floor-sale.ts'
import { kindsInOrder, SHARES } from '../../bench/mixed.ts'
import { assertKnown, isNamed, isSelected, readOptions } from '../../bench/options.ts'
import { BOUNDS, MEASURED, needsOf, plan, SIZES } from '../../bench/plan.ts'
import { bounded, reportOf } from '../../bench/report.ts'

const spent = (service_us: number): Spent => ({
  service_us,
  postgres_us: 200,
  round_trips: 30,
  wal_bytes: 90_000,
  peak_mib: 150,
})

describe('costs of a benchmark', () => {
  it('are per operation: processor time of the calm rounds, everything else of the median round', () => {
    const rounds = [9_000, 1_000, 1_200, 1_100, 5_000].map((us, place) => perOperation(place < 4 ? 10 : 20, spent(us)))
    const cost = costOf('sale', rounds)
    expect(cost).to.include({
      per: 'sale',
      service_us: 110,
      postgres_us: 20,
      round_trips: 3,
      wal_bytes: 9_000,
      peak_mib: 150,
    })
    expect(cost?.spreads[0]).to.be.above(1)
    expect(costOf('sale', [])).to.equal(null)
  })

  it('are printed as a table of the priced operations, below the table of figures', () => {
    const line = bounded({ name: 'sales-64', value: 3, unit: 'ms' }, 4)
    const cost = costOf('sale', [perOperation(10, spent(6_400))])
    expect(reportOf([line]).split('\n')).to.have.length(2)
    const [, figures, , , , costs, ...others] = reportOf([line, { ...line, cost }]).split('\n')
    expect(figures?.split(/ {2,}/)).to.deep.equal([
      'sales-64',
      '3',
      'ms',
      '4',
      '0.75',
      '1.00',
      'met',
      'what it may take',
    ])
    expect(costs?.split(/ {2,}/)).to.deep.equal(['sales-64', 'sale', '640', '20', '3', '9,000', '150', '0 %, 0 %'])
    expect(others).to.deep.equal([])
  })
})

describe('mix of calls', () => {
  const order = kindsInOrder()

  it('contains each kind by its share, and sales in every ten calls', () => {
    expect(order).to.have.length(100)
    for (const [kind, share] of Object.entries(SHARES))
      expect(order.filter((each) => each === kind)).to.have.length(share)
    for (let from = 0; from < 100; from += 10) expect(order.slice(from, from + 10)).to.include('sale')
  })
})

describe('--only', () => {
  const options = readOptions(['--only', 'sales-64,start-page-30'])

  it('selects each name of its list, and names that begin with one of them and a dash', () => {
    const names = ['sales-64', 'sales-64-idle', 'sales-1', 'start-page-30', 'start-page-365', 'sales-64-against']
    expect(names.filter((name) => isSelected(options, name))).to.deep.equal([
      'sales-64',
      'sales-64-idle',
      'start-page-30',
      'sales-64-against',
    ])
  })

  it('selects long benchmarks only by name', () => {
    expect(isNamed(options, ['start-page-7', 'start-page-30'])).to.equal(true)
    expect(isNamed(readOptions([]), ['start-page-30'])).to.equal(false)
    expect(isSelected(readOptions([]), 'sales-64')).to.equal(true)
  })

  it('refuses each name that selects nothing, and an empty list', () => {
    expect(() => assertKnown(options, ['sales-64', 'sales-1'])).to.throw('start-page-30; there are sales-64, sales-1')
    expect(() => assertKnown(readOptions(['--only', ',']), ['sales-1'])).to.throw('there are sales-1')
    expect(() => assertKnown(options, ['sales-64', 'start-page-30'])).not.to.throw()
  })
})

describe('floor of a sale', () => {
  const { schemas } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')).components
  const fieldsOf = (name: string): string[] => Object.keys(schemas[name].properties)
  const body = SaleBody.parse({
    items: [{ catalog_item_id: 7, quantity: '1' }],
    payments: [{ payment_type_id: 3, amount: '10.00' }],
  })
  const item = { id: 7, external_id: null, name: 'Produto', price: '10.00', stock: null }
  const type = { id: 3, name: 'Cartão', kind: 'card', fee_percentage: '2.50', accepts_api: true }
  const sale = saleObject(body, priceSale(body, [item], [type]), {
    id: 1,
    customer: null,
    now: new Date('2026-03-10T14:30:00Z'),
    timezone: 'America/Sao_Paulo',
  })

  it('has the fields of the contract, so that the comparison is fair', () => {
    expect(Object.keys(sale)).to.have.members(fieldsOf('Sale'))
  })

  it('has the fields of its lines', () => {
    const required = new Set(schemas.SaleItem.required as string[])
    expect(Object.keys(sale.items[0] ?? {})).to.include.members(
      fieldsOf('SaleItem').filter((name) => required.has(name)),
    )
  })
})

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

import { expect } from 'chai'
import { costOf, perOperation, type Spent } from '../../bench/cost.ts'
import { kindsInOrder, SHARES } from '../../bench/mixed.ts'
import { assertKnown, isNamed, isSelected, readOptions } from '../../bench/options.ts'
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

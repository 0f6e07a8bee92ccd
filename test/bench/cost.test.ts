import { expect } from 'chai'
import { costOf, grown, middleOf, type Spent } from '../../bench/cost.ts'
import { type AllocationNode, allocationAreasOf, areasOf, type Profile, stretchesOf } from '../../bench/flame/areas.ts'
import { functionsIn } from '../../bench/flame/postgres.ts'
import { callOf, KINDS, kindsInOrder, SHARES } from '../../bench/mixed/mix.ts'
import { costTableOf, type Line } from '../../bench/report.ts'

const spent = (service_us: number): Spent => ({
  service_us,
  postgres_us: 200,
  round_trips: 30,
  statements: 50,
  postgres_writes: 30,
  other_writes: 100,
  wal_bytes: 90_000,
  allocated_bytes: 1_000_000,
  peak_mib: 150,
  loop_p99_ms: 4,
})

describe('costs of a benchmark', () => {
  it('are per operation: processor time of the calm rounds, everything else of the median round', () => {
    const rounds = [9_000, 1_000, 1_200, 1_100, 5_000].map((us, place) =>
      costOf('sale', place < 4 ? 10 : 20, spent(us)),
    )
    const cost = middleOf('sale', rounds)
    expect(cost).to.include({
      per: 'sale',
      service_us: 110,
      postgres_us: 20,
      round_trips: 3,
      wal_bytes: 9_000,
      peak_mib: 150,
    })
    expect(cost?.spreads[0]).to.be.above(1)
    expect(middleOf('sale', [])).to.equal(null)
  })

  it('are the differences of counters', () => {
    const { service_us: _, postgres_us: __, wal_bytes: ___, peak_mib: ____, ...counts } = spent(0)
    const later = { ...counts, statements: counts.statements + 7, loop_p99_ms: 2 }
    expect(grown(counts, later)).to.deep.equal({
      round_trips: 0,
      statements: 7,
      postgres_writes: 0,
      other_writes: 0,
      allocated_bytes: 0,
      loop_p99_ms: 2,
    })
  })

  it('are printed as a table of the priced operations', () => {
    const line: Line = {
      name: 'sales-64',
      value: 1,
      unit: 'sales/s',
      floor: null,
      ratio: null,
      target: null,
      higher_is_better: true,
      against: '',
      spreads: [],
    }
    const cost = middleOf('sale', [costOf('sale', 10, spent(6_400))])
    expect(costTableOf([line])).to.equal(null)
    const [, row, ...others] = (costTableOf([line, { ...line, cost }]) ?? '').split('\n')
    expect(row?.split(/ {2,}/)).to.deep.equal([
      'sales-64',
      'sale',
      '640',
      '20',
      '3.00',
      '5.00',
      '3.00',
      '10',
      '9,000',
      '100,000',
      '150',
      '4.0',
      '0 %, 0 %',
    ])
    expect(others).to.deep.equal([])
  })
})

describe('flame summary', () => {
  it('charges frames without a file to their caller, and excludes idle time', () => {
    const node = (id: number, functionName: string, url: string, children: number[] = []) => ({
      id,
      callFrame: { functionName, url, lineNumber: 0, columnNumber: 0 },
      children,
    })
    const profile: Profile = {
      nodes: [
        node(1, '(root)', '', [2, 3, 4]),
        node(2, '(idle)', ''),
        node(3, 'decide', 'commands/sale.ts', [5, 6]),
        node(4, '(garbage collector)', ''),
        node(5, 'parse', ''),
        node(6, 'writev', ''),
      ],
      samples: [2, 3, 4, 5, 6],
      timeDeltas: [900, 20, 10, 20, 50],
    }
    expect(areasOf(profile, ({ callFrame }) => callFrame.url)).to.deep.equal([
      { name: 'system calls that write', share: 0.5 },
      { name: 'decide', share: 0.4 },
      { name: 'garbage collection', share: 0.1 },
    ])
  })

  it('charges allocations of the engine to the function that caused them', () => {
    const node = (functionName: string, url: string, selfSize: number, children: AllocationNode[] = []) => ({
      callFrame: { functionName, url, lineNumber: 0, columnNumber: 0 },
      selfSize,
      children,
    })
    const parsing = node('decide', 'commands/sale.ts', 300, [
      node('parse', '', 100),
      node('query', 'node_modules/pg/client.js', 500),
    ])
    expect(allocationAreasOf(node('(root)', '', 100, [parsing]), ({ callFrame }) => callFrame.url)).to.deep.equal([
      { name: 'Postgres driver', share: 0.5 },
      { name: 'decide', share: 0.4 },
      { name: 'the engine itself', share: 0.1 },
    ])
  })

  it('names the longest stretches without a pause, by the function that holds each', () => {
    const node = (id: number, functionName: string, url: string, children: number[] = []) => ({
      id,
      callFrame: { functionName, url, lineNumber: 0, columnNumber: 0 },
      children,
    })
    const profile: Profile = {
      nodes: [
        node(1, '(root)', '', [2, 3, 6]),
        node(2, '(idle)', ''),
        node(3, 'processTicks', 'node:internal/process', [4]),
        node(4, 'decide', 'commands/sale.ts', [5]),
        node(5, 'parse', ''),
        node(6, 'onread', 'node:internal/stream_base'),
      ],
      samples: [3, 4, 5, 5, 2, 6, 2, 4, 6],
      timeDeltas: [1_000, 2_000, 3_000, 3_000, 50_000, 1_000, 9_000, 4_000, 2_000],
    }
    expect(stretchesOf(profile, ({ callFrame }) => callFrame.url)).to.deep.equal([
      { name: 'decide commands/sale.ts', ms: 9 },
      { name: 'decide commands/sale.ts', ms: 4 },
      { name: 'onread node:internal/stream_base', ms: 2 },
      { name: 'onread node:internal/stream_base', ms: 1 },
    ])
  })

  it("parses perf's report, with the kernel as one entry", () => {
    const report =
      '    30.00%  postgres  [.] heap_insert\n\n     6.00%  [kernel.kallsyms]  [k] fsync\n 4.00%  [vdso] [k] clock\n'
    expect(functionsIn(report)).to.deep.equal([
      { name: 'heap_insert', share: 0.75 },
      { name: 'the kernel', share: 0.25 },
    ])
  })
})

describe('mix of calls', () => {
  const order = kindsInOrder()

  it('contains each kind by its share, and sales in every ten calls', () => {
    expect(order).to.have.length(100)
    for (const kind of KINDS) expect(order.filter((each) => each === kind)).to.have.length(SHARES[kind])
    for (let from = 0; from < 100; from += 10) expect(order.slice(from, from + 10)).to.include('sale')
  })

  it('uses each key once', () => {
    const companies = [{ companyId: 1, token: 't', cookie: 'c' }]
    const keys = [0, 1, 2].map((number) => callOf('sale', companies, number, 'run').headers['idempotency-key'])
    expect(keys).to.deep.equal(['run-0', 'run-1', 'run-2'])
  })
})

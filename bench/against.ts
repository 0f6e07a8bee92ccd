import { resolve } from 'node:path'
import { meterOf, type ProcessorTime } from './cost.ts'
import { LIST_BENCHMARKS, listCalls, CONNECTIONS as READERS, sellForLists } from './lists.ts'
import { type Call, generate } from './load.ts'
import { isSelected, type Options } from './options.ts'
import type { Line } from './report.ts'
import { createSales } from './requests.ts'
import { median, percentile, spread, WARM_UP_ROUNDS } from './rounds.ts'
import { CONNECTIONS as SELLERS } from './sales.ts'
import { type Checkout, COMPANIES, type Environment, ROOT, withCheckout } from './servers.ts'
import type { Shop } from './shop.ts'
import { prepareStartPages, START_PAGE_BENCHMARKS } from './start-page.ts'

/** Highest accepted ratio of the costs of two versions. */
const TARGET = 1.03

/** Sales of the company whose start page is compared; enough for every period. */
const SALES_OF_YEAR = 100_000

/** Benchmarks on the same companies; `prepare` fills them and returns the calls by benchmark. */
interface Group {
  readonly names: readonly string[]
  readonly companies: number
  readonly connections: number
  prepare(checkout: Checkout): Promise<ReadonlyMap<string, () => Call>>
}

const GROUPS: readonly Group[] = [
  {
    names: ['sales-64'],
    companies: COMPANIES,
    connections: SELLERS,
    prepare: async ({ shops }) => new Map([['sales-64', createSales(shops)]]),
  },
  {
    names: LIST_BENCHMARKS.filter((name) => name.startsWith('sales-list')),
    companies: 1,
    connections: READERS,
    async prepare({ service, shops }) {
      await sellForLists(service.url, shops[0] as Shop)
      return new Map(Object.entries(listCalls(shops[0] as Shop)))
    },
  },
  {
    names: START_PAGE_BENCHMARKS,
    companies: 1,
    connections: 1,
    prepare: (checkout) => prepareStartPages(checkout, SALES_OF_YEAR),
  },
]

const nameOf = (name: string): string => `${name}-against`
export const AGAINST_BENCHMARKS: readonly string[] = GROUPS.flatMap(({ names }) => names.map(nameOf))

/** Microseconds per call. */
interface Cost extends ProcessorTime {
  /** Wall time with the callers of the benchmark: its inverse is the rate. */
  readonly clock_us: number
}

/**
 * Processor time of a call (service and Postgres) of this checkout compared with that of the one in `--against
 * DIRECTORY` (with installed packages): each service on its own database of the same server, in short alternating
 * rounds, compared round by round. On a busy machine a call costs up to twice as much, for both alike. Postgres serves
 * both, so only one is loaded at a time.
 */
export async function benchAgainst(environment: Environment, options: Options): Promise<Line[]> {
  const { against } = options
  if (against === null) return []
  const lines: Line[] = []
  for (const { names, companies, connections, prepare } of GROUPS) {
    const selected = names.filter((name) => isSelected(options, nameOf(name)))
    if (selected.length === 0) continue
    const measured = await withCheckout(environment, { companies, directory: ROOT }, (here) =>
      withCheckout(environment, { companies, directory: resolve(against) }, async (there) => {
        const sides = [await sidesOf(here, connections, prepare), await sidesOf(there, connections, prepare)] as const
        const compared: Line[] = []
        for (const name of selected) {
          const pair = sides.map((side) => side(name)) as [Side, Side]
          compared.push(comparison(nameOf(name), await measurePairs(pair, options)))
        }
        return compared
      }),
    )
    lines.push(...measured)
  }
  return lines
}

type Side = (seconds: number) => Promise<Cost>
type Pair = readonly [here: Cost, there: Cost]

async function sidesOf(checkout: Checkout, connections: number, prepare: Group['prepare']) {
  const { service, database } = checkout
  const meter = await meterOf(service, database.url)
  if (!meter) throw new Error('the processor time of these processes cannot be told')
  const calls = await prepare(checkout)
  return (name: string): Side => {
    const next = calls.get(name) as () => Call
    return async (seconds) => {
      const began = performance.now()
      const { value, ...time } = await meter(() => generate({ url: service.url, connections, seconds, next }))
      const clock_us = (performance.now() - began) * 1_000
      const each = (us: number) => us / value.answered
      return { service_us: each(time.service_us), postgres_us: each(time.postgres_us), clock_us: each(clock_us) }
    }
  }
}

async function measurePairs([here, there]: [Side, Side], { rounds, seconds }: Options): Promise<Pair[]> {
  const pairs: Pair[] = []
  for (let round = 0; round < WARM_UP_ROUNDS + rounds; round++) {
    if (round % 2 === 0) pairs.push([await here(seconds), await there(seconds)])
    else {
      const former = await there(seconds)
      pairs.push([await here(seconds), former])
    }
  }
  return pairs.slice(WARM_UP_ROUNDS)
}

const both = ({ service_us, postgres_us }: Cost): number => service_us + postgres_us

/** Prints the ratios by round, and makes the line of both processor times. */
function comparison(name: string, pairs: readonly Pair[]): Line {
  const ratiosOf = (of: (cost: Cost) => number) => pairs.map(([here, there]) => of(here) / of(there))
  const middle = (place: 0 | 1, of: (cost: Cost) => number) => median(pairs.map((pair) => of(pair[place])))
  for (const [what, of] of [
    ['service', (cost: Cost) => cost.service_us],
    ['Postgres', (cost: Cost) => cost.postgres_us],
    ['both', both],
    ['by the clock', (cost: Cost) => cost.clock_us],
  ] as const) {
    const ratios = ratiosOf(of)
    const [low, high] = [0.25, 0.75].map((share) => percentile(ratios, share).toFixed(3))
    console.log(
      `${name}: ${what} ${Math.round(middle(0, of))} µs, there ${Math.round(middle(1, of))} µs; ` +
        `by round ${median(ratios).toFixed(3)} times, half of the rounds ${low} to ${high}`,
    )
  }
  return {
    name,
    value: middle(0, both),
    unit: 'µs a call',
    floor: middle(1, both),
    ratio: median(ratiosOf(both)),
    target: TARGET,
    isHigherBetter: false,
    against: 'the other checkout',
    spreads: [0, 1].map((place) => spread(pairs.map((pair) => both(pair[place as 0 | 1])))),
  }
}

import { fileURLToPath } from 'node:url'

/** `npm run plan [-- COMPANIES…]`: what a number of companies needs in its busiest minute, and in a year. */

/** µs of service and Postgres for a call alone and among 32, which share statements and commits; and ms alone. */
type Cost = readonly [service: number, postgres: number, crowdedService: number, crowdedPostgres: number, ms: number]

/** Measured on two cores with Node 20.20 and Postgres 18.4 (fsync on); `npm run bench -- --only NAME` prints each. */
export const MEASURED = {
  /** 23 November 2026, by `costs-KIND-1` and `costs-KIND-32`. */
  calls: {
    sale: [2091, 2092, 597, 436, 4.3],
    upload: [3532, 3297, 2100, 1780, 6.9],
    opening: [1843, 1369, 989, 1131, 3.7],
    poll: [757, 785, 331, 380, 1.6],
    page: [4002, 2331, 3211, 2122, 6.3],
    report: [1995, 1638, 856, 1036, 4.6],
    /** `costs-sale-delivered` less `costs-sale`. */
    delivery: [1952, 2776, 697, 600, 7.6],
    /** `costs-tree`: growth of a ledger's tree within a minute of a sale. */
    tree: [2658, 705, 2658, 705, 3.3],
  } satisfies Record<string, Cost>,
  /** `costs-idle`: µs of an idle process a second, service and Postgres. */
  idle: [14_423, 5_862],
  /** Of a sale: disk of ledger and tables with indexes, and of `ops` for a month at most; log (WAL of `costs-sale-32`). */
  bytes: { kept: 3_756, passing: 1_423, log: 7_833 },
  /** Events a second of a process, by `rebuild-200000` and `comparison-200000`. */
  rebuilt: 34_416,
  compared: 20_000,
  /** By `comparison-of-changes-200000`, 28 November 2026: a fifth of `comparison-200000` in the same run. */
  comparedChanges: 4_000,
} as const
export type Kind = keyof typeof MEASURED.calls
const KINDS = Object.keys(MEASURED.calls) as Kind[]

/** What one installation may need. Assumptions: replace them by your machines and your patience. */
export const BOUNDS = {
  /** Of the primary. */
  cores: 16,
  /** At 200 MB a second, 8 TB are restored in 11 hours. */
  terabytes: 8,
  rebuildHours: 48,
  /** A day, of comparing what has changed and its part of the whole ledgers. */
  comparisonHours: 20,
} as const
/** Share of cores in the busiest minute; the rest is for rebuilds, backups, comparisons and the loss of a machine. */
const USED = 0.5
/** Share of the time of each process in which tables are compared, and days within which all of them are. */
const [COMPARING, WHOLE_DAYS] = [0.2, 25]
/** Of a process to Postgres. */
const CONNECTIONS = 20
/** Days of ledgers, and sales of a usual day relative to the last one of a month. */
const [DAYS, USUAL_DAY] = [365, 0.7]

/**
 * Sizes of companies by Sebrae's count of small businesses (2018), with a few larger ones; sales by the legal limits of
 * turnover at R$ 30 a sale on 300 days. Programs poll every five minutes, and receive a webhook of each sale.
 */
export const SIZES = [
  { share: 0.59, sales: 8, tills: 1, programs: 0.02, visits: 0.3 },
  { share: 0.32, sales: 35, tills: 1, programs: 0.2, visits: 1 },
  { share: 0.085, sales: 250, tills: 3, programs: 1, visits: 4 },
  { share: 0.005, sales: 2_000, tills: 12, programs: 2, visits: 15 },
] as const
const mean = (of: (size: (typeof SIZES)[number]) => number) =>
  SIZES.reduce((sum, size) => sum + size.share * of(size), 0)
const OPEN_MINUTES = 600

/** Shares of a day's calls at nine, when tills open, and at noon, when sales peak. Half of the polls are by the clock. */
type Call = readonly [perDay: number, nine: number, noon: number]
const SELLING = [0.07 / 60, 0.12 / 60] as const
/** Calls of a mean company on the last day of a month: a fifth of the sales by API, the others in uploads of three. */
const CALLS: Readonly<Record<Kind, Call>> = {
  sale: [mean(({ sales }) => 0.2 * sales), ...SELLING],
  upload: [mean(({ sales }) => (0.8 * sales) / 3), ...SELLING],
  opening: [mean(({ tills }) => tills), 0.056, 0],
  poll: [mean(({ programs }) => programs * 288), 3 / 1_440, 3 / 1_440],
  page: [mean(({ visits }) => visits * 6), 0.1 / 60, 0.06 / 60],
  report: [mean(({ programs }) => programs * 12), 0.004, 0.002],
  delivery: [mean(({ sales, programs }) => sales * Math.min(1, programs)), ...SELLING],
  tree: [mean(({ sales }) => OPEN_MINUTES * (1 - Math.exp(-sales / OPEN_MINUTES))), ...SELLING],
}

/** µs of a second's calls, of service or Postgres: a call costs own + shared / n, measured at n = 1 and n = 32. */
function timeOf(kind: Kind, perSecond: number, side: 0 | 1): number {
  const cost: Cost = MEASURED.calls[kind]
  const [alone, crowded] = [cost[side], cost[side === 0 ? 2 : 3]]
  const together = Math.min(32, Math.max(1, (perSecond * cost[4]) / 1_000))
  return perSecond * (crowded + (Math.max(0, alone - crowded) * (1 / together - 1 / 32)) / (1 - 1 / 32))
}

/** Needs of companies on one installation, whatever its bounds, in the minute at nine or at noon. */
export function needsOf(companies: number, minute: '09:00' | '12:00') {
  const rates = KINDS.map((kind) => {
    const [perDay, nine, noon] = CALLS[kind]
    return [kind, (companies * perDay * (minute === '09:00' ? nine : noon)) / 60] as const
  })
  const coresOf = (processes: number, side: 0 | 1) => {
    const calls = rates.reduce((sum, [kind, rate]) => sum + processes * timeOf(kind, rate / processes, side), 0)
    return (calls + processes * MEASURED.idle[side]) / 1_000_000 / USED
  }
  // A process works on one core; calls that are spread over more of them share less.
  let processes = 2
  while (coresOf(processes, 0) > processes) processes += 1
  const sales = companies * mean((size) => size.sales)
  const events = sales * USUAL_DAY * DAYS
  return {
    sales,
    callsASecond: rates.slice(0, -2).reduce((sum, [, rate]) => sum + rate, 0),
    minute,
    processes,
    serviceCores: coresOf(processes, 0),
    cores: coresOf(processes, 1),
    connections: processes * CONNECTIONS,
    terabytes: (events * MEASURED.bytes.kept + sales * 30 * MEASURED.bytes.passing) / 1e12,
    logGigabytes: (sales * MEASURED.bytes.log) / 1e9,
    comparisonHours:
      (sales / MEASURED.comparedChanges + events / WHOLE_DAYS / MEASURED.compared) / COMPARING / processes / 3_600,
    rebuildHours: events / MEASURED.rebuilt / 3_600,
  }
}

/** Needs in the busier minute, and the number of installations by the tightest bound. */
export function plan(companies: number) {
  const [nine, noon] = [needsOf(companies, '09:00'), needsOf(companies, '12:00')]
  const needs = nine.serviceCores + nine.cores > noon.serviceCores + noon.cores ? nine : noon
  const share = (bound: keyof typeof BOUNDS) => needs[bound] / BOUNDS[bound]
  const bounds = Object.keys(BOUNDS) as (keyof typeof BOUNDS)[]
  const tightest = bounds.reduce((worst, bound) => (share(bound) > share(worst) ? bound : worst))
  return { ...needs, installations: Math.ceil(share(tightest)), tightest }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const given = process.argv.slice(2).map(Number)
  if (given.some((each) => !Number.isInteger(each) || each < 1)) throw new Error('npm run plan [-- COMPANIES…]')
  const cell = (value: string | number) =>
    typeof value === 'string' ? value : value.toLocaleString('en-US', { maximumFractionDigits: value < 100 ? 1 : 0 })
  const rows = (given.length > 0 ? given : [1_000, 20_000, 100_000, 300_000, 1_000_000]).map((companies) => ({
    companies,
    ...plan(companies),
  }))
  const titles = Object.keys(rows[0] ?? {}).map((name) =>
    name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
  )
  console.log(`| ${titles.join(' | ')} |\n|${'---|'.repeat(titles.length)}`)
  for (const row of rows) console.log(`| ${Object.values(row).map(cell).join(' | ')} |`)
}

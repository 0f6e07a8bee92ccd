import { ASSUMPTIONS } from './model/assumptions.ts'
import { MEASURED } from './model/measured.ts'
import { type Plan, plan } from './model/model.ts'
import { HABITS, SIZES } from './model/workload.ts'

/** `npm run plan [-- COMPANIES…]`: resources for numbers of companies, as docs/scale.md explains. */

const COMPANIES = [1_000, 20_000, 100_000, 300_000, 1_000_000]

const COLUMNS: readonly (readonly [string, (plan: Plan) => string])[] = [
  ['sales a day', ({ salesADay }) => whole(salesADay)],
  ['calls/s at most', ({ callsASecond, busiest }) => `${whole(callsASecond)} (${busiest})`],
  ['cores of services', ({ serviceCores }) => serviceCores.toFixed(1)],
  ['of Postgres', ({ postgresCores }) => postgresCores.toFixed(1)],
  ['processes', ({ processes }) => whole(processes)],
  ['shards', ({ shards }) => whole(shards)],
  ['machines', ({ machines }) => whole(machines)],
  ['connections of a shard', ({ connections }) => whole(connections)],
  ['disk, GB', ({ diskGigabytes }) => whole(diskGigabytes)],
  ['WAL a day, GB', ({ walGigabytesADay }) => walGigabytesADay.toFixed(1)],
  ['US$ a month', ({ dollarsAMonth }) => whole(dollarsAMonth)],
]

const whole = (figure: number): string => Math.round(figure).toLocaleString('en-US')

const given = process.argv.slice(2).map(Number)
if (given.some((companies) => !Number.isInteger(companies) || companies < 1))
  throw new Error('npm run plan [-- COMPANIES…]')
const plans = (given.length > 0 ? given : COMPANIES).map((companies) => ({
  companies,
  plan: plan(companies, { sizes: SIZES, habits: HABITS }, MEASURED, ASSUMPTIONS),
}))

console.log(`Costs measured: ${MEASURED.of}; prices of ${ASSUMPTIONS.prices.asOf}, assumed\n`)
console.log(`| Companies | ${COLUMNS.map(([title]) => title).join(' | ')} |`)
console.log(`|${'---|'.repeat(COLUMNS.length + 1)}`)
for (const { companies, plan } of plans)
  console.log(`| ${whole(companies)} | ${COLUMNS.map(([, told]) => told(plan)).join(' | ')} |`)

import { setTimeout as pause } from 'node:timers/promises'
import { type Heard, play } from './day/play.ts'
import { isTold } from './day/schedule.ts'
import type { Environment } from './environment.ts'
import { type Measured, ratesAt, type Time, timeOf } from './model/model.ts'
import { CALLED, HABITS, type Kind, MINUTES_A_DAY, meanOf, perKind, SIZES, shareOfMinute } from './model/workload.ts'
import { isNamed, type Options } from './options.ts'
import { machineTime } from './processor.ts'
import type { Line } from './report.ts'
import { priceCalls } from './scale.ts'
import { type Stage, withStage } from './stage.ts'

const PROCESSOR = 'day-processor'
/** Kinds with a measured latency. */
const HEARD = [...CALLED, 'delivery'] as const
const nameOf = (kind: Kind): string => `day-${kind}`
export const DAY_BENCHMARKS: readonly string[] = [...HEARD.map(nameOf), PROCESSOR]

const SEED = 22
/** Rounds for the costs of calls, before and after the day. */
const PRICED = { rounds: 2, seconds: 1 }

/** Around the opening of shops, repeated with growing load until something breaks. */
const OPENING = { from: 8 * 60 + 50, to: 9 * 60 + 20 }
const LONGEST_SALE_MS = 2_000
const REFUSED_AT_MOST = 0.001
const MOST_TIMES = 1_024

/**
 * The last day of a month of many companies, compressed to some minutes. Calls are sampled so that the load is
 * `--times` that
 * of a real day. It takes a quarter of an hour, so it must be named.
 */
export async function benchDay(environment: Environment, options: Options): Promise<Line[]> {
  if (!isNamed(options, DAY_BENCHMARKS)) return []
  const price = () => priceCalls(environment, { ...options, ...PRICED }, (measured) => measured)
  const before = await price()
  const receiver = await environment.start('dist/bench/webhook-receiver.js', {})
  const companiesOfShard = Math.ceil(options.companies / options.shards)
  const webhookOf = (place: number) => (isTold(place) ? `${receiver.url}/hooks/${place}` : null)
  const began = performance.now()
  const played = await withStage(
    environment,
    { shards: options.shards, companiesOfShard, webhookOf },
    async (stage) => {
      console.log(`day: ${options.companies} companies are there after ${secondsSince(began)} s`)
      const players = { stage, options, receiverUrl: receiver.url }
      const whole = await playTimes(players, options.times, { from: 0, to: MINUTES_A_DAY })
      tellKinds(whole.heard)
      await untilItBreaks(players)
      return whole
    },
  )
  const lines = [...linesOf(played.heard), compared(played, [before, await price()], options)]
  return lines
}

interface Players {
  readonly stage: Stage
  readonly options: Options
  readonly receiverUrl: string
}

/** Latencies, and processor time in seconds per second (cores). */
interface Played {
  readonly heard: Heard
  readonly seconds: number
  readonly service: number
  readonly postgres: number
  readonly generator: number
  /** Cores used by other processes. */
  readonly others: number
  readonly free: number
}

async function playTimes(
  { stage, options, receiverUrl }: Players,
  times: number,
  span: { readonly from: number; readonly to: number },
): Promise<Played> {
  const factor = MINUTES_A_DAY / options.minutes
  const companies = stage.shards.flatMap((shard) => shard.companies)
  const share = times / factor
  console.log(
    `day: ${clock(span.from)} to ${clock(span.to)}, ${factor} times as fast, ${(100 * share).toFixed(1)} % of the calls: ` +
      `${times} times as many at once as of ${companies.length} companies on a real day`,
  )
  const day = { companies: companies.length, share, seed: SEED }
  const minute_seconds = 60 / factor
  const hours = new AbortController()
  const watching = span.to - span.from === MINUTES_A_DAY ? watchHours(stage, minute_seconds, hours.signal) : null
  const [began, machine, generator] = [performance.now(), machineTime(), process.cpuUsage()]
  const measured = await stage.meter.measure(() =>
    play({ url: stage.service.url, companies, day, ...span, minute_seconds, receiverUrl }),
  )
  const seconds = (performance.now() - began) / 1_000
  hours.abort()
  await watching
  const [after, used] = [machineTime(), process.cpuUsage(generator)]
  const cores = (us: number) => us / 1_000_000 / seconds
  const own = measured.service_us + measured.postgres_us + used.user + used.system
  return {
    heard: measured.value,
    seconds,
    service: cores(measured.service_us),
    postgres: cores(measured.postgres_us),
    generator: cores(used.user + used.system),
    others: cores(Math.max(0, after.busy_us - machine.busy_us - own)),
    free: cores(after.idle_us - machine.idle_us),
  }
}

/** Prints the processor time of each hour of the day. */
async function watchHours(stage: Stage, minute_seconds: number, signal: AbortSignal): Promise<void> {
  const hour_seconds = 60 * minute_seconds
  const began = performance.now()
  let last = stage.meter.now()
  for (let hour = 0; hour < 24 && !signal.aborted; hour++) {
    await pause(began + (hour + 1) * hour_seconds * 1_000 - performance.now(), undefined, { signal }).catch(() => {})
    const now = stage.meter.now()
    const cores = (us: number) => (us / 1_000_000 / hour_seconds).toFixed(2)
    const { service_us, postgres_us } = last
    console.log(
      `day: ${clock(hour * 60)}: service ${cores(now.service_us - service_us)} cores, Postgres ${cores(now.postgres_us - postgres_us)}`,
    )
    last = now
  }
}

function tellKinds({ tallies, unsent, followed }: Heard): void {
  for (const kind of HEARD) {
    const { count, refusals } = tallies[kind]
    const refused = [...refusals].map(([why, times]) => `${times} × ${why}`).join(', ')
    const [p50, p99] = [0.5, 0.99].map((share) => tallies[kind].percentile(share).toFixed(1))
    console.log(`day: ${kind}: ${count} answered, p50 ${p50} ms, p99 ${p99} ms; refused: ${refused || 'none'}`)
  }
  console.log(`day: ${followed} pages were followed at a time; ${unsent} calls could not be made`)
}

/** Doubles the load until sales take too long, or calls are refused. */
async function untilItBreaks(players: Players): Promise<void> {
  for (let times = players.options.times; times <= MOST_TIMES; times *= 2) {
    const played = await playTimes(players, times, OPENING)
    const why = brokenBy(played.heard)
    const { service, postgres, generator, others, free } = played
    const figures = { service, Postgres: postgres, 'load generator': generator, others, free }
    const cores = Object.entries(figures).map(([name, figure]) => `${name} ${figure.toFixed(2)}`)
    console.log(`day: opening, ${times} times: ${why ?? 'nothing breaks'}; cores: ${cores.join(', ')}`)
    if (why === null) continue
    tellKinds(played.heard)
    console.log(`day: what breaks first is ${bottleneckOf(played)}, at ${times} times a real day`)
    return
  }
}

function brokenBy({ tallies, unsent }: Heard): string | null {
  const answered = HEARD.reduce((sum, kind) => sum + tallies[kind].count, 0)
  const refused = HEARD.reduce((sum, kind) => sum + tallies[kind].refusedCount, 0)
  const p99 = tallies.sale.percentile(0.99)
  if (unsent > 0) return `${unsent} calls could not be made, so many were under way`
  if (refused > REFUSED_AT_MOST * (answered + refused)) return `${refused} of ${answered + refused} were refused`
  if (p99 > LONGEST_SALE_MS) return `a sale takes ${Math.round(p99)} ms (p99)`
  return null
}

/** A process uses one core, plus library threads; free cores show whether the machine is the bottleneck. */
function bottleneckOf({ service, free, others }: Played): string {
  if (service > 0.85) return 'the one core that a process can use'
  if (free < 0.1) return `the processor of the machine, of which others had ${others.toFixed(2)} cores`
  return 'neither processor: see the refusals above'
}

function linesOf({ tallies }: Heard): Line[] {
  return HEARD.filter((kind) => tallies[kind].count > 0).map((kind) => ({
    name: nameOf(kind),
    value: tallies[kind].percentile(0.99),
    unit: 'ms (p99)',
    floor: tallies[kind].percentile(0.5),
    ratio: tallies[kind].percentile(0.99) / tallies[kind].percentile(0.5),
    target: null,
    higher_is_better: false,
    against: 'its p50',
    spreads: [],
  }))
}

/** Processor time of the day: measured, and predicted by the model from the costs of calls. */
function compared(played: Played, prices: readonly Measured[], options: Options): Line {
  const measured = (played.service + played.postgres) * played.seconds
  const predictions = prices.map((price) => predicted(price, options))
  const [before, after] = predictions.map(({ service_us, postgres_us }) => (service_us + postgres_us) / 1_000_000)
  const predicted_seconds = ((before ?? 0) + (after ?? 0)) / 2
  const of = (name: keyof Time) => predictions.reduce((sum, time) => sum + time[name], 0) / 2 / 1_000_000
  console.log(
    `${PROCESSOR}: service ${(played.service * played.seconds).toFixed(1)} s, predicted ${of('service_us').toFixed(1)} s; ` +
      `Postgres ${(played.postgres * played.seconds).toFixed(1)} s, predicted ${of('postgres_us').toFixed(1)} s ` +
      `(by the costs before ${before?.toFixed(1)} s in all, by those after ${after?.toFixed(1)} s)`,
  )
  return {
    name: PROCESSOR,
    value: measured,
    unit: 's of processor time',
    floor: predicted_seconds,
    ratio: measured / predicted_seconds,
    target: null,
    higher_is_better: false,
    against: 'what the model says',
    spreads: [],
  }
}

function predicted(price: Measured, { companies, shards, minutes, times }: Options): Time {
  const minute_seconds = (60 * minutes) / MINUTES_A_DAY
  const sum = { service_us: 0, postgres_us: 0 }
  for (let minute = 0; minute < MINUTES_A_DAY; minute++) {
    const real = ratesAt(companies, { sizes: SIZES, habits: HABITS }, minute)
    const rates = perKind((kind) => {
      // Table checks run once per real day, and trees grow once per real minute.
      if (kind === 'check') return 0
      if (kind === 'growth') return (companies * grownInMinute(minute, times)) / 60
      return real[kind] * times
    })
    const time = timeOf(price, rates, { shards, processes: 1 })
    sum.service_us += time.service_us * minute_seconds
    sum.postgres_us += time.postgres_us * minute_seconds
  }
  return sum
}

/** Companies with a sale in a minute of `times` this load. */
const grownInMinute = (minute: number, times: number): number =>
  meanOf(SIZES, ({ salesADay }) => 1 - Math.exp(-salesADay * shareOfMinute('sale', minute) * times))

const clock = (minute: number): string =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`

const secondsSince = (began: number): number => Math.round((performance.now() - began) / 1_000)

import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Books } from './books.ts'
import type { Environment } from './environment.ts'
import { open } from './load.ts'
import { watchMemory } from './memory.ts'
import { isNamed, type Options } from './options.ts'
import { sendPaced } from './paced.ts'
import { meterOf } from './processor.ts'
import { compare, type Line, lowerIsBetter } from './report.ts'
import { type Figures, measureInTurns, type Side } from './rounds.ts'
import { createSaleRequests } from './sale-requests.ts'
import type { Shop } from './shop.ts'

const LATENCY = 'stream-latency'
const FAIR = 'stream-fair'
const PROCESSOR = 'stream-processor'
const MEMORY = 'stream-memory'
export const STREAM_BENCHMARKS: readonly string[] = [LATENCY, FAIR, PROCESSOR, MEMORY]

/** Maximum per company and process. */
const LISTENERS_OF_COMPANY = 50
const COMPANIES = 10
/** Targets: ms from commit to client, and MiB for 500 listeners. */
const LATENCY_TARGET_MS = 100
const MEMORY_TARGET_MIB = 100
/** Sales per second: of all followed companies, and of a busy one. */
const SALES_PER_SECOND = 20
const SALES_OF_BUSY = 100

/** Waits for the last events. */
const SETTLING_MS = 500

const UNHEARD_BUSY = 'nobody listens to the busy one'
const HEARD_BUSY = '50 listen to the busy one'
const UNHEARD = 'nobody listens'
const HEARD = '500 listen'

/**
 * 500 listeners on one process, 50 for each of ten companies that sell: time from the response to a sale until its
 * event arrives (p95); the same for one listener beside a company that sells 100 times a second, with 50 listeners or
 * none; processor time per event and listener; and memory of all listeners.
 */
export async function benchStream(environment: Environment, options: Options, books: Books): Promise<Line[]> {
  if (!isNamed(options, STREAM_BENCHMARKS)) return []
  const { service, database } = environment
  const [one, ...others] = environment.shops as [Shop, ...Shop[]]
  const shops = others.slice(0, COMPANIES)
  const busy = shops.slice(0, 1)
  const meter = await meterOf([service], [database.url])
  if (!meter) throw new Error('the processor time of these processes cannot be told')
  const sell = async (sold: readonly Shop[], perSecond: number, seconds: number) => {
    const next = createSaleRequests(sold)
    const answered = await sendPaced({ url: service.url, perSecond, seconds, status: 201, next })
    books.acknowledge('service', answered.size)
    await pause(SETTLING_MS)
    return new Map([...answered].map(([request, at]) => [saleOf(request), at]))
  }
  const sellAll = (seconds: number) => sell(shops, SALES_PER_SECOND, seconds)
  const hearAll = (seconds: number) =>
    withListeners(service.url, shops, LISTENERS_OF_COMPANY, () => meter.measure(() => sellAll(seconds)))

  await sellAll(options.seconds)
  const { peak_mib: without } = await watchMemory(service.url, () => sellAll(options.seconds))
  const { peak_mib: withAll } = await watchMemory(service.url, () => hearAll(options.seconds))

  /** Microseconds per event and listener, without the cost of the sales. */
  const costs: number[] = []
  const perRound_us: number[] = []
  /** One listener beside a busy company, which may have listeners too. */
  const besideSide = (name: string, listening: <T>(work: () => Promise<T>) => Promise<T>): Side => ({
    name,
    async measure(seconds) {
      const heard = await listening(() =>
        withListeners(service.url, [one], 1, async () => {
          const own = sell([one], SALES_PER_SECOND, seconds)
          await sell(busy, SALES_OF_BUSY, seconds)
          return own
        }),
      )
      return p95(heard.arrivals, heard.value)
    },
  })
  const sides: Side[] = [
    {
      name: UNHEARD,
      async measure(seconds) {
        const { service_us } = await meter.measure(() => sellAll(seconds))
        perRound_us.push(service_us)
        return service_us
      },
    },
    {
      name: HEARD,
      async measure(seconds) {
        const { value, events, arrivals } = await hearAll(seconds)
        costs.push((value.service_us - (perRound_us.at(-1) as number)) / events)
        return p95(arrivals, value.value)
      },
    },
    besideSide(UNHEARD_BUSY, (work) => work()),
    besideSide(HEARD_BUSY, async (work) => {
      const { value } = await withListeners(service.url, busy, LISTENERS_OF_COMPANY, work)
      return value
    }),
  ]
  const measured = await measureInTurns(sides, options)
  const figures = new Map([
    ...measured,
    [PROCESSOR, costs.slice(-options.rounds)],
    [MEMORY, [withAll - without]],
    [LATENCY_FLOOR, [LATENCY_TARGET_MS]],
    [MEMORY_FLOOR, [MEMORY_TARGET_MIB]],
  ])
  return linesOf(figures)
}

const LATENCY_FLOOR = `${LATENCY_TARGET_MS} ms`
const MEMORY_FLOOR = `${MEMORY_TARGET_MIB} MiB`

const linesOf = (figures: Figures): Line[] => [
  lowerIsBetter(figures, { value: HEARD, floor: LATENCY_FLOOR }, { name: LATENCY, unit: 'ms (p95)', target: 1 }),
  lowerIsBetter(figures, { value: HEARD_BUSY, floor: UNHEARD_BUSY }, { name: FAIR, unit: 'ms (p95)', target: null }),
  {
    ...compare(figures, { value: PROCESSOR, floor: 'none' }, { name: PROCESSOR, unit: 'µs an event', target: null }),
    higher_is_better: false,
  },
  lowerIsBetter(figures, { value: MEMORY, floor: MEMORY_FLOOR }, { name: MEMORY, unit: 'MiB', target: 1 }),
]

/** Milliseconds from the response to the arrival; negative if the event arrives first. */
function p95(arrivals: readonly Arrival[], answeredAt: ReadonlyMap<string, number>): number {
  const delays = arrivals.map(([sale, at]) => at - (answeredAt.get(sale) as number))
  if (delays.length === 0) throw new Error('no listener was told of a sale')
  return delays.toSorted((a, b) => a - b)[Math.ceil(delays.length * 0.95) - 1] as number
}

/** Sale, and arrival of its event at a listener, in milliseconds since 1970. */
type Arrival = readonly [sale: string, at: number]

interface Heard<T> {
  readonly value: T
  /** Arrivals at all listeners. */
  readonly arrivals: readonly Arrival[]
  /** Events received by all listeners, one per event and listener. */
  readonly events: number
}

/** Runs `work` with listeners for each shop. @throws if listeners receive different events */
async function withListeners<T>(
  url: string,
  shops: readonly Shop[],
  count: number,
  work: () => Promise<T>,
): Promise<Heard<T>> {
  const groups = await Promise.all(
    shops.map(async ({ key }) => {
      const after = await headOf(url, key)
      return Promise.all(Array.from({ length: count }, () => listen(url, key, after)))
    }),
  )
  try {
    const value = await work()
    for (const group of groups) {
      const told = new Set(group.map(({ told: { events } }) => events))
      if (told.size > 1) throw new Error(`listeners of one company were told of ${[...told].join(', ')} events`)
    }
    const all = groups.flat().map(({ told }) => told)
    return {
      value,
      arrivals: all.flatMap(({ arrivals }) => arrivals),
      events: all.reduce((sum, { events }) => sum + events, 0),
    }
  } finally {
    for (const { socket } of groups.flat()) socket.destroy()
  }
}

async function headOf(url: string, key: string): Promise<number> {
  const { headers } = await fetch(`${url}/api/v1/me`, { headers: { Authorization: `Bearer ${key}` } })
  return Number(headers.get('X-Ledger-Revision'))
}

const SALE = /"external_id":"(pedido-[^"]+)"/
const saleOf = (text: string): string => SALE.exec(text)?.[1] ?? ''

interface Told {
  events: number
  readonly arrivals: Arrival[]
}

/** Listener that parses sales and counts other events. */
async function listen(url: string, key: string, after: number): Promise<{ socket: Socket; told: Told }> {
  const socket = await open(url)
  const told: Told = { events: 0, arrivals: [] }
  let rest = ''
  const opened = new Promise<void>((resolve, reject) => {
    socket.on('data', (chunk: Buffer) => {
      const now = performance.timeOrigin + performance.now()
      const blocks = (rest + chunk.toString('latin1')).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        if (block.includes('retry: ')) resolve()
        if (!block.includes('\ndata: ')) continue
        told.events += 1
        if (block.includes('"type":"SaleCompleted"')) told.arrivals.push([saleOf(block), now])
      }
    })
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('a stream was not opened')))
  })
  const head = ['Host: 127.0.0.1', 'Accept: text/event-stream', `Authorization: Bearer ${key}`]
  socket.write(`GET /api/v1/events/stream?after=${after} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`)
  await opened
  return { socket, told }
}

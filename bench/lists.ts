import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Books } from './books.ts'
import { costingOf } from './cost.ts'
import { generate, loadSide, sendPaced } from './load.ts'
import { isSelected, type Options } from './options.ts'
import { bounded, compare, type Line } from './report.ts'
import { createOtherLists, createSales, LIMIT, list } from './requests.ts'
import { measureInTurns, median, percentile, type Side } from './rounds.ts'
import type { Environment } from './servers.ts'
import type { Shop } from './shop.ts'

const AGAIN = `sales-list-${LIMIT}`
const FIRST = `sales-list-${LIMIT}-first`
const WHILE_WRITTEN = 'list-while-written'
export const LIST_BENCHMARKS: readonly string[] = [AGAIN, FIRST, WHILE_WRITTEN]

export const CONNECTIONS = 32
/** Relative to the rate of the floor. */
const TARGETS = { again: 0.5, first: 0.2 } as const

/** Sales in the list at the start, and per second; and pages per second. */
const SALES = 10_000
const SALES_WHILE_WRITTEN = 1_000
const WRITES_PER_SECOND = 100
const READS_PER_SECOND = 20
const LONGEST_MS = 30

/** Calls by name: a repeated page, as for pollers, and pages requested for the first time. */
export const listCalls = (shop: Pick<Shop, 'key'>) => ({
  [AGAIN]: () => list(shop, `limit=${LIMIT}`),
  [FIRST]: createOtherLists(shop),
})

/** Sells until a company has sales for a page. */
export async function sellForLists(url: string, shop: Shop, requests = SALES): Promise<number> {
  const load = { url, connections: CONNECTIONS, seconds: 600, next: createSales([shop]), requests }
  return (await generate(load)).answered
}

export async function benchLists(environment: Environment, options: Options, books: Books): Promise<Line[]> {
  const lines: Line[] = []
  if ([AGAIN, FIRST].some((name) => isSelected(options, name)))
    lines.push(...(await benchPages(environment, options, books)))
  if (isSelected(options, WHILE_WRITTEN)) lines.push(await benchWhileWritten(environment, options, books))
  return lines
}

/** GET /sales?limit=200 of a company with 10,000 sales, compared with Express sending the same bytes from memory. */
async function benchPages(environment: Environment, options: Options, books: Books): Promise<Line[]> {
  const { service, listShop, database } = environment
  books.acknowledge('service', await sellForLists(service.url, listShop))
  const file = join(tmpdir(), `tillbook-bench-${process.pid}.json`)
  await writeFile(file, await firstPage(service.url, listShop.key))
  try {
    const express = await environment.start('dist/bench/floor-others.js', { BODY: file })
    const calls = listCalls(listShop)
    const costings = {
      again: await costingOf(service, database, 'page'),
      first: await costingOf(service, database, 'page'),
    }
    const page = { connections: CONNECTIONS, url: service.url, next: calls[AGAIN] }
    const figures = await measureInTurns(
      [
        loadSide({ ...page, name: 'again', costing: costings.again }),
        loadSide({ ...page, name: 'first', next: calls[FIRST], costing: costings.first }),
        loadSide({ ...page, name: 'Express', url: express.url }),
      ],
      options,
    )
    const line = (side: keyof typeof costings, name: string): Line => ({
      ...compare(figures, { name, unit: 'pages/s', target: TARGETS[side], value: side, floor: 'Express' }),
      cost: costings[side].cost(),
    })
    return [line('again', AGAIN), line('first', FIRST)]
  } finally {
    await rm(file)
  }
}

async function firstPage(url: string, key: string): Promise<Buffer> {
  const response = await fetch(`${url}/api/v1/sales?limit=${LIMIT}`, { headers: { Authorization: `Bearer ${key}` } })
  const bytes = Buffer.from(await response.arrayBuffer())
  const { data } = JSON.parse(bytes.toString()) as { data?: unknown[] }
  if (data?.length !== LIMIT)
    throw new Error(`${response.status}: the first page has ${data?.length} sales, not ${LIMIT}`)
  return bytes
}

/** GET /sales?limit=200 of a company that sells 100 times a second, so that no cached page is current: p95. */
async function benchWhileWritten(environment: Environment, options: Options, books: Books): Promise<Line> {
  const { service, listShop, database } = environment
  const { url } = service
  books.acknowledge('service', await sellForLists(url, listShop, SALES_WHILE_WRITTEN))
  const sale = createSales([listShop])
  const page = createOtherLists(listShop)
  const costing = await costingOf(service, database, `page of ${LIMIT}, five sales and all`)
  const readWhileWriting = async (seconds: number): Promise<number[]> => {
    const times: number[] = []
    const [written] = await Promise.all([
      sendPaced({ url, perSecond: WRITES_PER_SECOND, seconds, next: sale }),
      sendPaced({
        url,
        perSecond: READS_PER_SECOND,
        seconds,
        next: page,
        onAnswer: (_, { took_ms }) => times.push(took_ms),
      }),
    ])
    books.acknowledge('service', written.answered)
    return times
  }
  const side: Side = {
    name: 'service',
    async measure(seconds) {
      const times = await costing.round(
        () => readWhileWriting(seconds),
        ({ length }) => length,
      )
      return percentile(times, 0.95)
    },
  }
  const times = (await measureInTurns([side], options)).get('service') ?? []
  return bounded({ name: WHILE_WRITTEN, value: median(times), unit: 'ms (p95)', cost: costing.cost() }, LONGEST_MS)
}

import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Books } from './books.ts'
import { type Costing, costingOf } from './cost.ts'
import type { Environment } from './environment.ts'
import { generate } from './load.ts'
import { isSelected, type Options } from './options.ts'
import { compare, type Line } from './report.ts'
import { measureInTurns, type Side } from './rounds.ts'
import { createSaleRequests } from './sale-requests.ts'

export const LIMIT = 200
const AGAIN = `sales-list-${LIMIT}`
const FIRST = `sales-list-${LIMIT}-first`
export const SALES_LIST_BENCHMARKS: readonly string[] = [AGAIN, FIRST]
const SALES = 10_000
const CONNECTIONS = 32
const TARGET = 0.5
const FIRST_TARGET = 0.2

/**
 * GET /sales?limit=200 of a company with 10,000 sales, compared with Express sending the same bytes from memory: a
 * repeated page, as for pollers, and pages requested for the first time.
 */
export async function benchSalesList(environment: Environment, options: Options, books: Books): Promise<Line[]> {
  if (!SALES_LIST_BENCHMARKS.some((name) => isSelected(options, name))) return []
  const { service, listShop, database } = environment
  const next = createSaleRequests([listShop])
  const load = { url: service.url, connections: CONNECTIONS, seconds: 300, status: 201, next, requests: SALES }
  const { answered } = await generate(load)
  books.acknowledge('service', answered)
  const bytes = await firstPage(service.url, listShop.key)
  const file = join(tmpdir(), `tillbook-bench-${process.pid}.json`)
  await writeFile(file, bytes)
  try {
    const floor = await environment.start('dist/bench/floor-list.js', { BODY: file })
    const costings = {
      again: await costingOf(service, database, 'page'),
      first: await costingOf(service, database, 'page'),
    }
    const again = () => listRequest(listShop.key)
    const figures = await measureInTurns(
      [
        listSide('again', service.url, again, costings.again),
        listSide('first', service.url, requestsForOtherPages(listShop.key), costings.first),
        listSide('Express', floor.url, again),
      ],
      options,
    )
    const unit = 'pages/s'
    return [
      {
        ...compare(figures, { value: 'again', floor: 'Express' }, { name: AGAIN, unit, target: TARGET }),
        cost: costings.again.cost(),
      },
      {
        ...compare(figures, { value: 'first', floor: 'Express' }, { name: FIRST, unit, target: FIRST_TARGET }),
        cost: costings.first.cost(),
      },
    ]
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

/** Raw GET request for a full page. */
export const listRequest = (key: string, parameters?: string): string =>
  `GET /api/v1/sales?limit=${LIMIT}${parameters ? `&${parameters}` : ''} HTTP/1.1\r\nHost: 127.0.0.1\r\n` +
  `Connection: keep-alive\r\nAuthorization: Bearer ${key}\r\n\r\n`

/** The same sales with another parameter each time: since a time before all of them. */
export function requestsForOtherPages(key: string): () => string {
  const before = Date.parse('2020-01-01T00:00:00Z')
  let count = 0
  return () => listRequest(key, `updated_since=${new Date(before + ++count).toISOString()}`)
}

function listSide(name: string, url: string, next: () => string, costing?: Costing): Side {
  return {
    name,
    isFloor: !costing,
    async measure(seconds) {
      const load = () => generate({ url, connections: CONNECTIONS, seconds, status: 200, next })
      const { perSecond } = costing ? await costing.round(load, ({ answered }) => answered) : await load()
      return perSecond
    },
  }
}

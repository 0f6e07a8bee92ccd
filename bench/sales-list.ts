import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Books } from './books.ts'
import type { Environment } from './environment.ts'
import { generate } from './load.ts'
import { isSelected, type Options } from './options.ts'
import { compare, type Line } from './report.ts'
import { measureInTurns, type Side } from './rounds.ts'
import { createSaleRequests } from './sale-requests.ts'

export const SALES_LIST_BENCHMARK = 'sales-list-200'
const SALES = 10_000
const LIMIT = 200
const CONNECTIONS = 32
const TARGET = 0.5

/** GET /sales?limit=200 of a company with 10,000 sales, against Express answering the same bytes from memory. */
export async function benchSalesList(environment: Environment, options: Options, books: Books): Promise<Line[]> {
  if (!isSelected(options, SALES_LIST_BENCHMARK)) return []
  const { service, listShop } = environment
  const next = createSaleRequests([listShop])
  const { answered } = await generate({
    url: service.url,
    connections: CONNECTIONS,
    seconds: 300,
    status: 201,
    next,
    requests: SALES,
  })
  books.acknowledge('service', answered)
  const bytes = await firstPage(service.url, listShop.key)
  const file = join(tmpdir(), `tillbook-bench-${process.pid}.json`)
  await writeFile(file, bytes)
  try {
    const floor = await environment.start('dist/bench/floor-list.js', { BODY: file })
    const sides = [listSide('service', service.url, listShop.key), listSide('Express', floor.url, listShop.key)]
    const figures = await measureInTurns(sides, options)
    return [
      compare(
        figures,
        { value: 'service', floor: 'Express' },
        { name: SALES_LIST_BENCHMARK, unit: 'pages/s', target: TARGET },
      ),
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

function listSide(name: string, url: string, key: string): Side {
  const request =
    `GET /api/v1/sales?limit=${LIMIT} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\n` +
    `Authorization: Bearer ${key}\r\n\r\n`
  return {
    name,
    async measure(seconds) {
      const load = { url, connections: CONNECTIONS, seconds, status: 200, next: () => request }
      return (await generate(load)).perSecond
    },
  }
}

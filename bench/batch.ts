import type { Books } from './books.ts'
import { type Costing, costingOf } from './cost.ts'
import type { Environment } from './environment.ts'
import { generate } from './load.ts'
import { isSelected, type Options } from './options.ts'
import { compare, type Line } from './report.ts'
import { measureInTurns, type Side } from './rounds.ts'
import type { Shop } from './shop.ts'

const CUSTOMERS = 500
/** Share of the rate of the handler without history. */
const TARGET = 0.2
export const BATCH_BENCHMARK = `batch-${CUSTOMERS}`
/** Concurrent integrators, each of another company. */
const CONNECTIONS = 4

/**
 * POST /customers/batch with 500 new customers, compared with a hand-written handler that upserts them in one
 * statement.
 */
export async function benchBatch(environment: Environment, options: Options, _books: Books): Promise<Line[]> {
  if (!isSelected(options, BATCH_BENCHMARK)) return []
  const { service, shops, database } = environment
  const floor = await environment.start('dist/bench/floor-batch.js', { DATABASE_URL: database.url })
  const costing = await costingOf(service, database, 'customer')
  const handler = await costingOf(floor, database, 'customer')
  const sides = [batchSide('service', service.url, costing, shops), batchSide('handler', floor.url, handler, shops)]
  const figures = await measureInTurns(sides, options)
  const result = { name: BATCH_BENCHMARK, unit: 'customers/s', target: TARGET }
  return [{ ...compare(figures, { value: 'service', floor: 'handler' }, result), cost: costing.cost() }]
}

function batchSide(name: string, url: string, costing: Costing, shops: readonly Shop[]): Side {
  const next = createBatches(shops)
  return {
    name,
    isFloor: name !== 'service',
    // A refused customer would make the response a 207.
    async measure(seconds) {
      const { perSecond } = await costing.round(
        () => generate({ url, connections: CONNECTIONS, seconds, status: 200, next }),
        ({ answered }) => answered * CUSTOMERS,
      )
      return perSecond * CUSTOMERS
    },
  }
}

/** Batches of alternating companies, as raw HTTP requests. */
function createBatches(shops: readonly Shop[]): () => string {
  const run = Date.now().toString(36)
  let count = 0
  return () => {
    count += 1
    const shop = shops[count % shops.length] as Shop
    const items = Array.from({ length: CUSTOMERS }, (_, place) => ({
      external_id: `c-${run}-${count}-${place}`,
      name: `Cliente ${run} ${count} ${place}`,
      email: `cliente${place}@exemplo.com.br`,
      phone: '(11) 98888-7777',
    }))
    const body = JSON.stringify({ items })
    return (
      'POST /api/v1/customers/batch HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\nContent-Type: application/json\r\n' +
      `Authorization: Bearer ${shop.key}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    )
  }
}

import type { Books } from './books.ts'
import { costingOf } from './cost.ts'
import type { Environment } from './environment.ts'
import { generate } from './load.ts'
import { isSelected, type Options } from './options.ts'
import { compare, type Line } from './report.ts'
import { measureInTurns, type Side } from './rounds.ts'
import { createSaleRequests, pickItems } from './sale-requests.ts'
import { CONNECTIONS } from './sales.ts'
import type { Shop } from './shop.ts'

export const UPLOAD_BENCHMARK = 'upload-1000'
const SALES = 1_000
/** Concurrent uploads, each of another company. */
const TILLS = 2
const TARGET = 8

/**
 * POST /api/sync/sales with 1,000 offline sales of 3 items, compared with floor A, which registers one sale per request
 * on many connections and over all companies, its fastest mode.
 */
export async function benchUpload(environment: Environment, options: Options, books: Books): Promise<Line[]> {
  if (!isSelected(options, UPLOAD_BENCHMARK)) return []
  const { service, floorA, shops, database } = environment
  const costing = await costingOf(service, database, 'sale')
  const nextUpload = createUploads(shops)
  const nextSale = createSaleRequests(shops)
  const sides: Side[] = [
    {
      name: 'service',
      async measure(seconds) {
        const load = { url: service.url, connections: TILLS, seconds, status: 200, next: nextUpload }
        const { answered, perSecond } = await costing.round(
          () => generate(load),
          ({ answered }) => answered * SALES,
        )
        // The check of the books finds refused sales.
        books.acknowledgeUploaded(answered * SALES)
        return perSecond * SALES
      },
    },
    {
      name: 'floor A',
      isFloor: true,
      async measure(seconds) {
        const load = { url: floorA.url, connections: CONNECTIONS, seconds, status: 201, next: nextSale }
        const { answered, perSecond } = await generate(load)
        books.acknowledge('floor', answered)
        return perSecond
      },
    },
  ]
  const figures = await measureInTurns(sides, options)
  const result = { name: UPLOAD_BENCHMARK, unit: 'sales/s', target: TARGET }
  return [{ ...compare(figures, { value: 'service', floor: 'floor A' }, result), cost: costing.cost() }]
}

/** Uploads of alternating companies, as raw HTTP requests. */
function createUploads(shops: readonly Shop[]): () => string {
  const run = Date.now().toString(36)
  let count = 0
  return () => {
    count += 1
    const shop = shops[count % shops.length] as Shop
    const sales = Array.from({ length: SALES }, (_, place) => offlineSale(shop, `pdv-${run}-${count}-${place}`))
    const body = JSON.stringify({ sales })
    return (
      'POST /api/sync/sales HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\nContent-Type: application/json\r\n' +
      `Authorization: Bearer ${shop.token}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    )
  }
}

/** Sale of a few items, paid by card, in the till's format. */
export function offlineSale(shop: Pick<Shop, 'items' | 'cardId'>, offline_id: string) {
  const { items, cents } = pickItems(shop)
  const total = cents / 100
  return {
    offline_id,
    total,
    amount_received: total,
    change: 0,
    status: 'completed',
    created_at: '2026-03-10T14:30:00.000Z',
    items: items.map(({ id, priceCents }) => ({
      product_id: id,
      quantity: 1,
      price: priceCents / 100,
      total: priceCents / 100,
    })),
    payments: [{ payment_type_id: shop.cardId, amount: total, status: 'completed' }],
  }
}

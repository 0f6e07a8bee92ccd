import { CUSTOMERS, type Shop } from './shop.ts'

/** Lines of each sale, all of tracked items. */
export const LINES = 3

/** Adjacent items of a shop, and the price of one of each. */
export function pickItems({ items }: Pick<Shop, 'items'>): { items: Shop['items']; cents: number } {
  const first = Math.floor(Math.random() * (items.length - LINES + 1))
  const picked = items.slice(first, first + LINES)
  return { items: picked, cents: picked.reduce((sum, item) => sum + item.priceCents, 0) }
}

/** A sale of a few items, paid by card. */
export function saleBody(shop: Pick<Shop, 'items' | 'cardId'>, external_id: string) {
  const { items, cents } = pickItems(shop)
  return {
    external_id,
    sold_at: '2026-03-10T11:30:00-03:00',
    items: items.map((item) => ({ catalog_item_id: item.id, quantity: '1.000' })),
    payments: [{ payment_type_id: shop.cardId, amount: (cents / 100).toFixed(2) }],
  }
}

/** One in this number of sales has a customer. */
const SALES_OF_A_CUSTOMER = 3

/** Creates raw POST /sales requests, each with its own keys. */
export function createSaleRequests(shops: readonly Shop[]): () => string {
  const run = Date.now().toString(36)
  let count = 0
  return () => {
    count += 1
    const shop = shops[count % shops.length] as Shop
    const customer_external_id = count % SALES_OF_A_CUSTOMER === 0 ? shop.customers[count % CUSTOMERS]?.name : undefined
    const body = JSON.stringify({ ...saleBody(shop, `pedido-${run}-${count}`), customer_external_id })
    return (
      'POST /api/v1/sales HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\nContent-Type: application/json\r\n' +
      `Authorization: Bearer ${shop.key}\r\nIdempotency-Key: venda-${run}-${count}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    )
  }
}

import type { Call } from './load.ts'
import { CUSTOMERS, type Shop } from './shop.ts'

/** Lines of each sale, all of tracked items. */
export const LINES = 3
/** Sales of a page. */
export const LIMIT = 200

interface Parts {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly status?: number
}

/** Raw request; its body is written as JSON. */
export function call(method: 'GET' | 'POST', path: string, { headers = {}, body, status = 200 }: Parts = {}): Call {
  const text = body === undefined ? '' : JSON.stringify(body)
  const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const type = text ? `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n` : ''
  const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\n${own.join('')}${type}\r\n`
  return { text: head + text, status }
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })

const RUN = Date.now().toString(36)
let named = 0

/** Texts that are used once. */
export const names = (prefix: string) => (): string => `${prefix}-${RUN}-${++named}`

/** Takes turns. */
export function inTurn<T>(all: readonly T[]): () => T {
  let count = 0
  return () => all[++count % all.length] as T
}

/** Adjacent items of a shop, and the price of one of each. */
function pickItems({ items }: Pick<Shop, 'items'>): { items: Shop['items']; cents: number } {
  const first = Math.floor(Math.random() * (items.length - LINES + 1))
  const picked = items.slice(first, first + LINES)
  return { items: picked, cents: picked.reduce((sum, item) => sum + item.priceCents, 0) }
}

/** A minute ago, in the shops' time zone and in UTC. */
const SOLD_AT = `${new Date(Date.now() - 181 * 60_000).toISOString().slice(0, 19)}-03:00`
const CREATED_AT = new Date(SOLD_AT).toISOString()

/** One in this number of sales has a customer. */
const SALES_OF_A_CUSTOMER = 3

/** A sale of a few items, paid by card. */
function saleOf(shop: Shop, name: string, customer_external_id?: string) {
  const { items, cents } = pickItems(shop)
  return {
    external_id: name,
    sold_at: SOLD_AT,
    items: items.map((item) => ({ catalog_item_id: item.id, quantity: '1.000' })),
    payments: [{ payment_type_id: shop.cardId, amount: (cents / 100).toFixed(2) }],
    customer_external_id,
  }
}

/** POST /sales. */
export function postSale(shop: Shop, name: string, customer?: string): Call {
  const headers = { ...bearer(shop.key), 'Idempotency-Key': name }
  return call('POST', '/api/v1/sales', { headers, body: saleOf(shop, name, customer), status: 201 })
}

/** The same by the tool of agents. */
export function saleTools(shops: readonly Shop[]): () => Call {
  const [next, nextShop] = [names('agente'), inTurn(shops)]
  return () => {
    const [shop, idempotency_key] = [nextShop(), next()]
    const given = { ...saleOf(shop, idempotency_key), idempotency_key }
    const params = { name: 'createSale', arguments: given }
    const headers = { ...bearer(shop.key), Accept: 'application/json, text/event-stream' }
    return call('POST', '/mcp', { headers, body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params } })
  }
}

export function createSales(shops: readonly Shop[]): () => Call {
  const next = names('venda')
  const nextShop = inTurn(shops)
  let count = 0
  return () => {
    const shop = nextShop()
    count += 1
    const customer = count % SALES_OF_A_CUSTOMER === 0 ? shop.customers[count % CUSTOMERS]?.name : undefined
    return postSale(shop, next(), customer)
  }
}

/** POST /sync/sales with a till's offline sales. */
export function upload(shop: Shop, name: string, count: number): Call {
  const sales = Array.from({ length: count }, (_, place) => offlineSale(shop, `${name}-${place}`))
  return call('POST', '/api/sync/sales', { headers: bearer(shop.token), body: { sales } })
}

function offlineSale(shop: Shop, offline_id: string) {
  const { items, cents } = pickItems(shop)
  const total = cents / 100
  return {
    offline_id,
    total,
    amount_received: total,
    change: 0,
    status: 'completed',
    created_at: CREATED_AT,
    items: items.map(({ id, priceCents }) => ({
      product_id: id,
      quantity: 1,
      price: priceCents / 100,
      total: priceCents / 100,
    })),
    payments: [{ payment_type_id: shop.cardId, amount: total, status: 'completed' }],
  }
}

/** POST /customers/batch. A refused customer would make the response a 207. */
export function batch(shop: Shop, name: string, count: number): Call {
  const items = Array.from({ length: count }, (_, place) => ({
    external_id: `${name}-${place}`,
    name: `Cliente ${name} ${place}`,
    email: `cliente${place}@exemplo.com.br`,
    phone: '(11) 98888-7777',
  }))
  return call('POST', '/api/v1/customers/batch', { headers: bearer(shop.key), body: { items } })
}

/** A page of sales. */
export const list = ({ key }: Pick<Shop, 'key'>, parameters: string): Call =>
  call('GET', `/api/v1/sales?${parameters}`, { headers: bearer(key) })

/** The same full page of sales with another parameter each time: since a time before all of them. */
export function createOtherLists(shop: Pick<Shop, 'key'>): () => Call {
  const before = Date.parse('2020-01-01T00:00:00Z')
  let count = 0
  return () => list(shop, `limit=${LIMIT}&updated_since=${new Date(before + ++count).toISOString()}`)
}

/** What changed in the last seconds, for programs that poll. */
export const poll = (shop: Shop): Call => list(shop, `limit=50&updated_since=${ago(2_000)}`)

export const summary = ({ key }: Shop): Call =>
  call('GET', `/api/v1/finance/summary?from=${SOLD_AT.slice(0, 8)}01&to=${SOLD_AT.slice(0, 10)}`, {
    headers: bearer(key),
  })

/** Request of a till to `/api/sync`. */
export const sync = ({ token }: Pick<Shop, 'token'>, path: string): Call =>
  call('GET', `/api/sync/${path}`, { headers: bearer(token) })

/** Products that changed lately. */
export const changedProducts = (shop: Shop): Call => sync(shop, `products?last_sync=${ago(60_000)}`)

export const panelPage = (cookie: string, path: string): Call =>
  call('GET', `/painel${path}`, { headers: { Cookie: cookie } })

const ago = (ms: number): string => new Date(Date.now() - ms).toISOString()

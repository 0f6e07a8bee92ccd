import { expect } from 'chai'
import type { Json, Reply } from '../support/api.ts'
import { offlineSaleOf } from '../support/offline-sales.ts'
import type { Act, Stage } from './act.ts'
import { SIDES } from './book.ts'

/** Sends a POST under its own idempotency key and retries until it is answered. */
async function post({ shop, book, caller, next }: Stage, path: string, body: object): Promise<Reply> {
  const headers = { authorization: `Bearer ${shop.key}`, 'idempotency-key': `${path} ${next()}` }
  const call = { method: 'POST', path: `/api/v1${path}`, body, headers }
  const reply = await caller.insist(call)
  book.answered.push({ call, reply })
  return reply
}

async function made(stage: Stage, path: string, body: object, status = 201): Promise<Json> {
  const reply = await post(stage, path, body)
  expect(reply.status, `${path} ${reply.text}`).to.equal(status)
  return reply.body.data
}

const sell: Act = async (stage) => {
  const { shop, book, dice } = stage
  const product = dice.pick([...shop.products.keys()])
  const reply = await post(stage, '/sales', {
    items: [{ catalog_item_id: product, quantity: '1' }],
    payments: [{ payment_type_id: shop.cash, amount: '10.00' }],
  })
  if (reply.status === 201) book.sales.set(reply.body.data.id, product)
  else expect(reply.body.error, reply.text).to.include({ code: 'insufficient_stock' })
}

const cancel: Act = async (stage) => {
  const { book, dice } = stage
  if (book.sales.size === 0) return sell(stage)
  const id = dice.pick([...book.sales.keys()])
  expect(await made(stage, `/sales/${id}/cancel`, {}, 200)).to.include({ id, status: 'cancelled' })
  book.cancelled.add(id)
}

const adjust: Act = async ({ shop, book, caller, dice, next }) => {
  const product = dice.pick([...shop.products.keys()])
  const thousandths = next()
  const reply = await caller.tell({
    method: 'PATCH',
    path: `/api/v1/catalog/items/${product}`,
    body: { stock_adjustment: (thousandths / 1000).toFixed(3) },
    headers: { authorization: `Bearer ${shop.key}` },
  })
  if (reply) expect(reply.status, reply.text).to.equal(200)
  book.adjustments.push({ product, thousandths, outcome: reply ? 'done' : 'unknown' })
}

const batchOf = (path: string, fields: object, known: 'customers' | 'items'): Act => {
  return async (stage) => {
    const ids = Array.from({ length: stage.dice.between(1, 40) }, () => `lote-${stage.next()}`)
    const items = ids.map((external_id) => ({ external_id, name: `Nome ${external_id}`, ...fields }))
    const created = await made(stage, path, { items }, 200)
    expect(created.map((record: Json) => record.external_id)).to.deep.equal(ids)
    for (const id of ids) stage.book[known].add(id)
  }
}

const account: Act = async (stage) => {
  const { book, dice } = stage
  const side = dice.pick(SIDES)
  const cents = dice.between(1, 99_999)
  const amount = (cents / 100).toFixed(2)
  const { id } = await made(stage, `/finance/${side}`, { description: 'Aluguel', amount, due_date: '2026-03-10' })
  book.accounts[side].set(id, cents)
  if (dice.chance(0.4)) return void book.open[side].add(id)
  const settled = await made(stage, `/finance/${side}/${id}/settle`, { payment_method: 'pix' }, 200)
  expect(settled).to.include({ id, status: 'settled' })
  book.settled[side].add(id)
}

const uploadOffline: Act = async ({ shop, book, caller, dice, next }) => {
  const sales = Array.from({ length: dice.between(1, 6) }, () => ({
    product: dice.pick([...shop.products.keys()]),
    offline_id: `pdv-${next()}`,
  }))
  const reply = await caller.insist({
    method: 'POST',
    path: '/api/sync/sales',
    body: {
      sales: sales.map(({ product, offline_id }) =>
        offlineSaleOf({
          offline_id,
          items: [{ product_id: product, quantity: 1, price: 10, total: 10 }],
          payments: [{ payment_type_id: shop.cash, amount: 10, status: 'completed' }],
        }),
      ),
    },
    headers: { authorization: `Bearer ${shop.token}` },
  })
  expect(reply.status, reply.text).to.equal(200)
  for (const [position, { offline_id, product }] of sales.entries()) {
    const result = reply.body.results[position]
    // A sale that was recorded before the crash is a duplicate.
    expect(result.status, reply.text).to.be.oneOf(['created', 'duplicate'])
    expect(result.offline_id).to.equal(offline_id)
    book.offline.set(offline_id, { sale: result.sale_id, product })
  }
}

/** A company may register 50 endpoints. No receiver listens at this address. */
const register: Act = async (stage) => {
  if (stage.book.webhooks.size >= 5) return sell(stage)
  const { id } = await made(stage, '/webhooks', { url: 'http://127.0.0.1:9/', events: ['payable.settled'] })
  stage.book.webhooks.add(id)
}

const order: Act = async (stage) => {
  const { shop, book } = stage
  const [product = 0] = shop.products.keys()
  const items = [{ catalog_item_id: product, quantity: '1', unit_price: '46.30' }]
  const placed = await made(stage, '/orders', { store_alias: shop.alias, customer: { name: 'Ana' }, items })
  book.orders.add(placed.id)
  const payment = { method: 'card', brand: 'visa', token: 'APRO', payer: { email: 'ana@example.com' } }
  const paid = await made(stage, `/orders/${placed.id}/payments`, payment)
  expect(paid).to.include({ id: placed.id, status: 'paid' })
  book.orderSales.set(paid.sale_id, product)
  book.paid.set(placed.id, placed.provider_reference)
}

/** Every kind of write by programs and tills; frequent kinds are listed several times. */
export const ACTS: readonly Act[] = [
  ...[sell, sell, sell, sell, sell],
  cancel,
  // The only writes without an idempotency key: the writer alone prevents duplicates.
  ...[adjust, adjust, adjust],
  batchOf('/customers/batch', {}, 'customers'),
  batchOf('/catalog/items/batch', { price: '1.00', stock: '3' }, 'items'),
  ...[account, account],
  ...[uploadOffline, uploadOffline],
  register,
  order,
]

import createClient from 'openapi-fetch'
import type { components, paths } from '../out/openapi-typescript.ts'

const client = createClient<paths>({
  baseUrl: `${process.env.BASE}/api/v1`,
  headers: { Authorization: `Bearer ${process.env.KEY}` },
})

/** Body of an answer. @throws if it is a refusal */
async function dataOf<T>(call: Promise<{ data?: T; error?: unknown }>): Promise<T> {
  const { data, error } = await call
  if (data === undefined) throw new Error(JSON.stringify(error))
  return data
}

const customer = (await dataOf(client.POST('/customers', { body: { name: 'Maria da Silva' } }))).data
const product = { name: 'Café torrado 500 g', price: '18.90', stock: '10', gtin: 'SEM GTIN' }
const item = (await dataOf(client.POST('/catalog/items', { body: product }))).data

const types = (await dataOf(client.GET('/sales/payment-types'))).data
const cash = types.find(({ is_cash }) => is_cash)
if (!cash) throw new Error('no cash')
const order: components['schemas']['SaleInput'] = {
  external_id: 'PEDIDO-1',
  customer_id: customer.id,
  items: [{ catalog_item_id: item.id, quantity: '2' }],
  payments: [{ payment_type_id: cash.id, amount: '40.00' }],
}
const header = { 'Idempotency-Key': 'PEDIDO-1' }
const sale = (await dataOf(client.POST('/sales', { body: order, params: { header } }))).data
const again = (await dataOf(client.POST('/sales', { body: order, params: { header } }))).data
const cancelled = (
  await dataOf(
    client.POST('/sales/{id}/cancel', { params: { path: { id: sale.id } }, body: { reason: 'Cliente desistiu' } }),
  )
).data

const names: (string | null)[] = []
for (let cursor: string | null | undefined; cursor !== null; ) {
  const query = { limit: 2, ...(cursor && { cursor }) }
  const page = await dataOf(client.GET('/customers', { params: { query } }))
  names.push(...page.data.map(({ name }) => name))
  cursor = page.meta.next_cursor
}

const account = { description: 'Pedido 1', amount: '37.80', due_date: '2030-01-10' }
const receivable = (await dataOf(client.POST('/finance/receivables', { body: account }))).data
const settled = (
  await dataOf(
    client.POST('/finance/receivables/{id}/settle', {
      params: { path: { id: receivable.id }, header: { 'Idempotency-Key': 'NF-1' } },
      body: { payment_method: 'pix' },
    }),
  )
).data

const hook = { url: 'https://tillbook.example/hook', events: ['sale.completed' as const] }
const webhook = (await dataOf(client.POST('/webhooks', { body: hook }))).data
const refused = await client.GET('/customers/{id}', { params: { path: { id: 999_999_999 } } })

console.log(
  JSON.stringify({
    customer: { name: customer.name, email: customer.email },
    item: { gtin: item.gtin, stock: item.stock },
    sale: { total: sale.total, change: sale.change, is_same: sale.id === again.id },
    cancelled: { status: cancelled.status, reason: cancelled.cancel_reason },
    names,
    settled: { status: settled.status, method: settled.payment_method },
    webhook: { url: webhook.url, secret: webhook.secret?.slice(0, 6) },
    refused: refused.error?.error.code,
  }),
)

import { client } from '../out/hey-api/client.gen.ts'
import {
  cancelSale,
  createCatalogItem,
  createCustomer,
  createReceivable,
  createSale,
  getCustomer,
  listCustomers,
  listPaymentTypes,
  registerWebhook,
  settleReceivable,
} from '../out/hey-api/sdk.gen.ts'
import type { SaleInput } from '../out/hey-api/types.gen.ts'

client.setConfig({ baseUrl: `${process.env.BASE}/api/v1`, auth: process.env.KEY, throwOnError: true })
const throwOnError = true

const customer = (await createCustomer({ body: { name: 'Maria da Silva' }, throwOnError })).data.data
const product = { name: 'Café torrado 500 g', price: '18.90', stock: '10', gtin: 'SEM GTIN' }
const item = (await createCatalogItem({ body: product, throwOnError })).data.data

const types = (await listPaymentTypes({ throwOnError })).data.data
const cash = types.find(({ is_cash }) => is_cash)
if (!cash) throw new Error('no cash')
const body: SaleInput = {
  external_id: 'PEDIDO-1',
  customer_id: customer.id,
  items: [{ catalog_item_id: item.id, quantity: '2' }],
  payments: [{ payment_type_id: cash.id, amount: '40.00' }],
}
const headers = { 'Idempotency-Key': 'PEDIDO-1' }
const sale = (await createSale({ body, headers, throwOnError })).data.data
const again = await createSale({ body, headers, throwOnError })
const reason = { reason: 'Cliente desistiu' }
const cancelled = (await cancelSale({ path: { id: sale.id }, body: reason, throwOnError })).data.data

const names: (string | null)[] = []
for (let cursor: string | null | undefined; cursor !== null; ) {
  const { data } = await listCustomers({ query: { limit: 2, ...(cursor && { cursor }) }, throwOnError })
  names.push(...data.data.map(({ name }) => name))
  cursor = data.meta.next_cursor
}

const account = { description: 'Pedido 1', amount: '37.80', due_date: '2030-01-10' }
const receivable = (await createReceivable({ body: account, throwOnError })).data.data
const settled = (
  await settleReceivable({
    path: { id: receivable.id },
    headers: { 'Idempotency-Key': 'NF-1' },
    body: { payment_method: 'pix' },
    throwOnError,
  })
).data.data

const hook = { url: 'https://tillbook.example/hook', events: ['sale.completed' as const] }
const webhook = (await registerWebhook({ body: hook, throwOnError })).data.data
const refused = await getCustomer({ path: { id: 999_999_999 }, throwOnError: false })

console.log(
  JSON.stringify({
    customer: { name: customer.name, email: customer.email },
    item: { gtin: item.gtin, stock: item.stock },
    sale: { total: sale.total, change: sale.change, is_same: sale.id === again.data.data.id },
    cancelled: { status: cancelled.status, reason: cancelled.cancel_reason },
    names,
    settled: { status: settled.status, method: settled.payment_method },
    webhook: { url: webhook.url, secret: webhook.secret?.slice(0, 6) },
    refused: refused.error?.error.code,
  }),
)

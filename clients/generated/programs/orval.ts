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
  type SaleInput,
  settleReceivable,
} from '../out/orval/calls.ts'
import * as checks from '../out/orval/checks.ts'

const withKey = (key: string) => ({ headers: { 'Idempotency-Key': key } })

const customer = checks.CreateCustomerResponse.parse((await createCustomer({ name: 'Maria da Silva' })).data).data
const product = { name: 'Café torrado 500 g', price: '18.90', stock: '10', gtin: 'SEM GTIN' }
checks.CreateCatalogItemBody.parse(product)
const item = checks.CreateCatalogItemResponse.parse((await createCatalogItem(product)).data).data

const types = checks.ListPaymentTypesResponse.parse((await listPaymentTypes()).data).data
const cash = types.find(({ is_cash }) => is_cash)
if (!cash) throw new Error('no cash')
const order: SaleInput = {
  external_id: 'PEDIDO-1',
  customer_id: customer.id,
  items: [{ catalog_item_id: item.id, quantity: '2' }],
  payments: [{ payment_type_id: cash.id, amount: '40.00' }],
}
const sale = checks.CreateSaleResponse.parse((await createSale(order, withKey('PEDIDO-1'))).data).data
const again = checks.CreateSaleResponse.parse((await createSale(order, withKey('PEDIDO-1'))).data).data
const reason = { reason: 'Cliente desistiu' }
const cancelled = checks.CancelSaleResponse.parse((await cancelSale(sale.id, reason)).data).data

const names: (string | null)[] = []
for (let cursor: string | null | undefined; cursor !== null; ) {
  const answer = await listCustomers({ limit: 2, ...(cursor && { cursor }) })
  const page = checks.ListCustomersResponse.parse(answer.data)
  names.push(...page.data.map(({ name }) => name))
  cursor = page.meta.next_cursor
}

const account = { description: 'Pedido 1', amount: '37.80', due_date: '2030-01-10' }
const receivable = checks.CreateReceivableResponse.parse((await createReceivable(account)).data).data
const payment = { payment_method: 'pix' as const }
const settlement = await settleReceivable(receivable.id, payment, withKey('NF-1'))
const settled = checks.SettleReceivableResponse.parse(settlement.data).data

const hook = { url: 'https://tillbook.example/hook', events: ['sale.completed' as const] }
const webhook = checks.RegisterWebhookResponse.parse((await registerWebhook(hook)).data).data
const refused = await getCustomer(999_999_999)

console.log(
  JSON.stringify({
    customer: { name: customer.name, email: customer.email },
    item: { gtin: item.gtin, stock: item.stock },
    sale: { total: sale.total, change: sale.change, is_same: sale.id === again.id },
    cancelled: { status: cancelled.status, reason: cancelled.cancel_reason },
    names,
    settled: { status: settled.status, method: settled.payment_method },
    webhook: { url: webhook.url, secret: webhook.secret?.slice(0, 6) },
    refused: refused.status === 404 ? refused.data.error.code : refused.status,
  }),
)

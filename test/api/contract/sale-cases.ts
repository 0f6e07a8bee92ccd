import { recordFiscalDocument } from '#commands/fiscal-document-commands.ts'
import { OfflineSaleInput } from '#commands/offline-sale-input.ts'
import { recordOfflineSale } from '#commands/record-offline-sale.ts'
import { registerSale } from '#commands/register-sale.ts'
import { registerTill } from '#commands/till-commands.ts'
import { accessKeyOf } from '../../support/access-key.ts'
import { fiscalDocument } from '../../support/facts.ts'
import { offlineSaleOf, openCounter } from '../../support/offline-sales.ts'
import type { Case, Cases } from './case.ts'
import { paidOrder } from './order-cases.ts'
import type { World } from './world.ts'

/** An ad-hoc item for 10.00. */
const adHoc = (world: World, paid = '10.00') => ({
  items: [{ description: 'Bolo', quantity: '1', unit_price: '10.00' }],
  payments: [{ payment_type_id: world.cash, amount: paid }],
})

const sold = (world: World) => world.create('/sales', { ...adHoc(world), external_id: world.unique('pedido') })

/** Id of an uploaded sale on credit without a customer. */
async function soldOnCredit({ company, unique }: World): Promise<number> {
  const counter = await openCounter(company)
  return (await counter.record(counter.onAccount(unique('pdv')))).id
}

const paymentType = (world: World) =>
  world.create('/sales/payment-types', { name: world.unique('Vale'), kind: 'other' })

/** Sale with customer, tracked item and all optional fields. */
const whole: Case = async (world) => {
  const external_id = world.unique('cliente')
  await world.create('/customers', { name: external_id, external_id })
  const item = await world.create('/catalog/items', { name: 'Café', price: '18.90', stock: '10' })
  const sale = {
    external_id: world.unique('pedido'),
    customer_external_id: external_id,
    sold_at: '2026-11-20T10:00:00-03:00',
    delivery_fee: '5.00',
    items: [{ catalog_item_id: item.id, quantity: '2' }, ...adHoc(world).items],
    payments: [
      { payment_type_id: world.card, amount: '30.00' },
      { payment_type_id: world.cash, amount: '30.00' },
    ],
  }
  return { body: sale }
}

/** One of three shirts comes back, given back in cash. */
async function soldShirts(world: World, fields: object = {}): Promise<{ id: number; body: object }> {
  const { id } = await world.create('/sales', {
    items: [{ description: 'Camisa', quantity: '3', unit_price: '10.00' }],
    payments: [{ payment_type_id: world.cash, amount: '30.00' }],
    ...fields,
  })
  return {
    id: id as number,
    body: {
      external_id: world.unique('devolução'),
      reason: 'Defeito',
      items: [{ line: 0, quantity: '1' }],
      refunds: [{ payment_type_id: world.cash, amount: '10.00' }],
    },
  }
}

async function returned(world: World) {
  const { id, body } = await soldShirts(world)
  const reply = await world.company.post(`/sales/${id}/returns`, body, newKey(world))
  return { sale: id, body, id: reply.body.data.id as number }
}

let documents = 0

/** A document with a number of its own. */
function newDocument() {
  const number = String(++documents)
  return { ...fiscalDocument, number, access_key: accessKeyOf({ number }) }
}

const newKey = (world: World) => ({ 'idempotency-key': world.unique('chave') })

export const saleCases: Cases = {
  listSales: {
    200: async (world) => {
      await world.company.post('/sales', (await whole(world)).body)
      return { query: { status: 'completed', origin: 'api', sold_from: '2026-11-01', sold_to: '2026-11-30' } }
    },
  },
  listTills: {
    200: async ({ company }) => {
      const key = Buffer.alloc(32, 7).toString('base64url')
      await company.run(registerTill, { name: 'Balcão', x: key, y: key })
      return {}
    },
  },
  listPaymentTypes: {
    200: async (world) => {
      await world.company.paymentType('cashback')
      return {}
    },
  },
  getPaymentType: { 200: async (world) => ({ params: { id: world.card } }) },
  createPaymentType: {
    201: async (world) => ({
      body: {
        name: world.unique('Crédito'),
        kind: 'card',
        fee_percentage: '1.5',
        due_days: 10,
        acquirer_rate: '3.55',
        settles_in_days: 30,
      },
    }),
    duplicate_resource: async (world) => ({ body: { name: (await paymentType(world)).name, kind: 'pix' } }),
  },
  updatePaymentType: {
    200: async (world) => ({
      params: { id: (await paymentType(world)).id },
      body: { acquirer_rate: '1.99', settles_in_days: null },
    }),
    duplicate_resource: async (world) => ({
      params: { id: (await paymentType(world)).id },
      body: { name: (await paymentType(world)).name },
    }),
  },
  getSale: { 200: async (world) => ({ params: { id: (await sold(world)).id } }) },
  getSaleReceipt: { 200: async (world) => ({ params: { id: (await sold(world)).id } }) },
  getSaleByExternalId: { 200: async (world) => ({ params: { external_id: (await sold(world)).external_id } }) },
  createSale: {
    201: whole,
    duplicate_resource: async (world) => {
      const { external_id } = await sold(world)
      return { body: { ...adHoc(world), external_id } }
    },
    person_forgotten: async (world) => ({
      body: { ...adHoc(world), customer_id: (await world.forgotten('/customers')).id },
    }),
    payment_already_used: async (world) => {
      const payments = [{ payment_type_id: world.card, amount: '10.00', end_to_end_id: 'E1' }]
      const body = { items: [{ description: 'Bolo', quantity: '1', unit_price: '10.00' }], payments }
      await world.create('/sales', body)
      return { query: { strict: 'true' }, body }
    },
    insufficient_stock: async (world) => {
      const { id } = await world.create('/catalog/items', { name: 'Chá', price: '10.00', stock: '1' })
      return { body: { ...adHoc(world, '20.00'), items: [{ catalog_item_id: id, quantity: '2' }] } }
    },
    payment_mismatch: (world) => ({ body: adHoc(world, '9.99') }),
  },
  cancelSale: {
    200: async (world) => ({ params: { id: (await sold(world)).id }, body: { reason: 'Desistência' } }),
    managed_by_pdv: async (world) => {
      const { id } = await world.company.run(registerSale, adHoc(world), 'pdv')
      return { params: { id }, body: {} }
    },
    managed_by_order: async (world) => {
      const { sale_id } = (await world.company.get(`/orders/${await paidOrder(world)}`)).body.data
      return { params: { id: sale_id }, body: {} }
    },
    fiscal_document_issued: async (world) => {
      const { id } = await sold(world)
      await world.company.run(recordFiscalDocument, { id, number: '1234', status: 'authorized' })
      return { params: { id }, body: {} }
    },
    sale_returned: async (world) => ({ params: { id: (await returned(world)).sale }, body: {} }),
    payment_mismatch: async (world) => ({ params: { id: (await sold(world)).id }, body: { refunds: [] } }),
  },
  createReturn: {
    201: async (world) => {
      const { id, body } = await soldShirts(world)
      return { params: { id }, headers: newKey(world), body }
    },
    managed_by_order: async (world) => {
      const { sale_id } = (await world.company.get(`/orders/${await paidOrder(world)}`)).body.data
      return { params: { id: sale_id }, headers: newKey(world), body: (await soldShirts(world)).body }
    },
    duplicate_resource: async (world) => {
      const { sale, body } = await returned(world)
      return { params: { id: sale }, headers: newKey(world), body }
    },
    sale_cancelled: async (world) => {
      const { id, body } = await soldShirts(world)
      await world.company.post(`/sales/${id}/cancel`, {})
      return { params: { id }, headers: newKey(world), body }
    },
    already_returned: async (world) => {
      const { id, body } = await soldShirts(world)
      return { params: { id }, headers: newKey(world), body: { ...body, items: [{ line: 0, quantity: '4' }] } }
    },
    payment_mismatch: async (world) => {
      const { id, body } = await soldShirts(world)
      return {
        params: { id },
        headers: newKey(world),
        body: { ...body, refunds: [{ payment_type_id: world.cash, amount: '9.99' }] },
      }
    },
    person_forgotten: async (world) => {
      const { id, body } = await soldShirts(world)
      const payment_type_id = await world.company.paymentType('exchange_credit')
      const customer_id = (await world.forgotten('/customers')).id
      return {
        params: { id },
        headers: newKey(world),
        body: { ...body, customer_id, refunds: [{ payment_type_id, amount: '10.00' }] },
      }
    },
  },
  listReturnsOfSale: { 200: async (world) => ({ params: { id: (await returned(world)).sale } }) },
  listReturns: { 200: async (world) => ({ query: { sale_id: String((await returned(world)).sale) } }) },
  getReturn: { 200: async (world) => ({ params: { id: (await returned(world)).id } }) },
  reverseReturn: {
    200: async (world) => ({ params: { id: (await returned(world)).id }, body: { reason: 'Engano' } }),
    fiscal_document_issued: async (world) => {
      const { id } = await returned(world)
      await world.company.call('PUT', `/returns/${id}/fiscal-document`, newDocument())
      return { params: { id }, body: { reason: 'Engano' } }
    },
    credit_spent: async (world) => {
      const { id, body } = await soldShirts(world)
      const { id: customer_id } = await world.create('/customers', { name: world.unique('Eva') })
      const payment_type_id = await world.company.paymentType('exchange_credit')
      const credit = { ...body, customer_id, refunds: [{ payment_type_id, amount: '10.00' }] }
      const reply = await world.company.post(`/sales/${id}/returns`, credit, newKey(world))
      const { id: product_id } = await world.create('/catalog/items', { name: world.unique('Bolo'), price: '10.00' })
      const sale = offlineSaleOf({
        ...{ offline_id: world.unique('v'), customer_id },
        items: [{ product_id, quantity: 1, price: 10, total: 10 }],
        payments: [{ payment_type_id, amount: 10, status: 'completed' }],
      })
      await world.company.run(recordOfflineSale, OfflineSaleInput.parse(sale), 'pdv')
      return { params: { id: reply.body.data.id }, body: { reason: 'Engano' } }
    },
  },
  putReturnFiscalDocument: {
    200: async (world) => ({ params: { id: (await returned(world)).id }, body: newDocument() }),
    fiscal_document_issued: async (world) => {
      const { id } = await returned(world)
      await world.company.call('PUT', `/returns/${id}/fiscal-document`, newDocument())
      return { params: { id }, body: newDocument() }
    },
    duplicate_resource: async (world) => {
      const body = newDocument()
      await world.company.call('PUT', `/sales/${(await sold(world)).id}/fiscal-document`, body)
      return { params: { id: (await returned(world)).id }, body }
    },
  },
  getCustomerCredit: {
    200: async (world) => {
      const { id, body } = await soldShirts(world)
      const customer = await world.create('/customers', { name: world.unique('Eva') })
      const payment_type_id = await world.company.paymentType('exchange_credit')
      const credit = { ...body, customer_id: customer.id, refunds: [{ payment_type_id, amount: '10.00' }] }
      await world.company.post(`/sales/${id}/returns`, credit, newKey(world))
      return { params: { id: customer.id } }
    },
  },
  putSaleCustomer: {
    200: async (world) => ({
      params: { id: await soldOnCredit(world) },
      body: { customer_id: (await world.create('/customers', { name: world.unique('Bia') })).id },
    }),
    person_forgotten: async (world) => ({
      params: { id: await soldOnCredit(world) },
      body: { customer_id: (await world.forgotten('/customers')).id },
    }),
  },
  putFiscalDocument: {
    200: async (world) => ({ params: { id: (await sold(world)).id }, body: newDocument() }),
    fiscal_document_issued: async (world) => {
      const { id } = await sold(world)
      await world.company.call('PUT', `/sales/${id}/fiscal-document`, newDocument())
      return { params: { id }, body: newDocument() }
    },
    duplicate_resource: async (world) => {
      const body = newDocument()
      await world.company.call('PUT', `/sales/${(await sold(world)).id}/fiscal-document`, body)
      return { params: { id: (await sold(world)).id }, body }
    },
  },
}

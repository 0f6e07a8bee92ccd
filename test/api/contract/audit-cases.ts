import { runCheckpointRound } from '#integrity/checkpoint-schedule.ts'
import type { Sealing } from '#integrity/checkpoints.ts'
import type { Case, Cases } from './case.ts'
import { placeOrder } from './order-cases.ts'
import type { World } from './world.ts'

/** Call about a new record. */
const about =
  (make: (world: World) => Promise<{ readonly id: number }>): Case =>
  async (world) => ({ params: { id: (await make(world)).id }, query: { limit: '1' } })

const account = { description: 'Boleto', amount: '10.00', due_date: '2026-12-01' }

const sale = ({ cash }: World) => ({
  items: [{ description: 'Bolo', quantity: '1', unit_price: '10.00' }],
  payments: [{ payment_type_id: cash, amount: '10.00' }],
})

const webhook = { url: 'https://erp.example/historia', events: ['basic'] }

/** One endpoint at a time, because their number per company is limited. */
async function registered({ company }: World) {
  const { data } = (await company.post('/webhooks', webhook)).body
  await company.call('DELETE', `/webhooks/${data.id}`)
  return data
}

/** Company without signed checkpoints. */
async function asStranger({ api }: World) {
  const { key } = await api.company()
  return { headers: { authorization: `Bearer ${key}` } }
}

const fail = (error: unknown): never => {
  throw error
}

export const auditCases: Cases = {
  listRequests: { 200: () => ({ query: { limit: '1' } }) },
  getRequest: {
    async 200({ company }) {
      const refused = await company.post('/customers', { external_id: 'CLI-1' })
      return { params: { request_id: refused.headers.get('x-request-id') ?? '' } }
    },
  },
  listEvents: { 200: () => ({ query: { after: '-1', types: 'CompanyRegistered,ApiKeyCreated', limit: '1' } }) },
  verifyEvents: { 200: () => ({}) },
  streamEvents: { 200: () => ({ query: { after: '0' } }) },
  proveEvent: {
    200: () => ({ params: { revision: 0 }, query: { size: '1' } }),
  },
  proveGrowth: { 200: () => ({ query: { from: '0' } }) },
  getCheckpoint: { 200: () => ({ query: { fresh: 'true' } }), not_found: asStranger },
  getCheckpointPlace: {
    async 200({ api }) {
      await runCheckpointRound(api.core.sealing as Sealing, { onSealed: () => {}, onError: fail })
      return {}
    },
    not_found: asStranger,
  },
  getCustomerHistory: {
    200: about((world) => world.create('/customers', { name: world.unique('Cliente antigo') })),
  },
  getSupplierHistory: {
    200: about((world) => world.create('/suppliers', { name: world.unique('Fornecedor antigo') })),
  },
  getCatalogItemHistory: {
    200: about((world) => world.create('/catalog/items', { name: world.unique('Item antigo'), price: '1.00' })),
  },
  getCategoryHistory: {
    200: about((world) => world.create('/catalog/categories', { name: world.unique('Categoria antiga') })),
  },
  getReceivableHistory: { 200: about((world) => world.create('/finance/receivables', account)) },
  getPayableHistory: { 200: about((world) => world.create('/finance/payables', account)) },
  getSaleHistory: { 200: about((world) => world.create('/sales', sale(world))) },
  getOrderHistory: { 200: about((world) => placeOrder(world)) },
  getWebhookHistory: { 200: about(registered) },
}

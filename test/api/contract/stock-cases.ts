import { createNfeXml } from '#demo/companies/demo-seed.ts'
import type { Cases } from './case.ts'
import type { World } from './world.ts'

const ACCESS_KEY = createNfeXml({ buyer: '11222333000181', lines: [], number: 987 }).accessKey

/** A purchase for a new item with a stock of 5. */
async function purchase(world: World, fields: object = {}) {
  const { id } = await world.create('/catalog/items', { name: 'Café', price: '18.90', stock: '5' })
  return { catalog_item_id: id, kind: 'purchase', quantity: '2', unit_cost: '9.00', ...fields }
}

const loss = (world: World) => purchase(world, { kind: 'loss', quantity: '6', unit_cost: null })

const openInventory = (world: World) => world.create('/stock/inventories', { name: 'Mercearia' })

/** An inventory that takes no more counts. */
async function closedInventory(world: World): Promise<number> {
  const { id } = await openInventory(world)
  await world.company.post(`/stock/inventories/${id}/close`, { apply: false })
  return id
}

async function countOf(world: World) {
  const { id } = await world.create('/catalog/items', { name: 'Café', price: '18.90', stock: '5' })
  return { items: [{ catalog_item_id: id, quantity: '4' }] }
}

/** A receipt with one bill. */
async function receiptOf(world: World, fields: object = {}) {
  const { id } = await world.create('/catalog/items', { name: 'Café', price: '18.90', stock: '5' })
  const lines = [{ catalog_item_id: id, quantity: '2', factor: '12', cost: '96.00' }]
  return { reference: 'NF 1', lines, bills: [{ due_date: '2027-01-10', amount: '96.00' }], ...fields }
}

const received = async (world: World) => world.create('/stock/receipts', await receiptOf(world))

const RULE = { kind: 'percent', amount: 500, ending: 90 }

async function pricesOf(world: World, fields: object = {}) {
  const { id } = await world.create('/catalog/items', { name: 'Café', price: '18.90' })
  return { rule: RULE, catalog_item_ids: [id], ...fields }
}

const TOMORROW = { starts_at: new Date(Date.now() + 86_400_000).toISOString() }

export const stockCases: Cases = {
  listGoodsReceipts: {
    200: async (world) => {
      await received(world)
      return { query: { limit: '1', updated_since: '2020-01-01T00:00:00Z' } }
    },
  },
  createGoodsReceipt: {
    201: async (world) => ({ body: await receiptOf(world) }),
    amount_limit: async (world) => ({ body: await receiptOf(world), key: await world.poorKey() }),
    duplicate_resource: async (world) => {
      const access_key = ACCESS_KEY
      const again = await receiptOf(world, { access_key })
      await world.company.post('/stock/receipts', again)
      return { body: again }
    },
    person_forgotten: async (world) => ({
      body: await receiptOf(world, { supplier_id: (await world.forgotten('/suppliers')).id }),
    }),
  },
  getGoodsReceipt: { 200: async (world) => ({ params: { id: (await received(world)).id } }) },
  undoGoodsReceipt: {
    200: async (world) => ({ params: { id: (await received(world)).id } }),
    has_payments: async (world) => {
      const { id, payable_ids } = await received(world)
      await world.company.post(
        `/finance/payables/${payable_ids[0]}/payments`,
        { amount: '1.00' },
        { 'idempotency-key': world.unique('pay') },
      )
      return { params: { id } }
    },
    insufficient_stock: async (world) => {
      const { id, lines } = await received(world)
      await world.company.call('PATCH', `/catalog/items/${lines[0].catalog_item_id}`, { stock: '1' })
      return { params: { id } }
    },
  },
  listPriceChanges: {
    200: async (world) => {
      await world.create('/catalog/price-changes', await pricesOf(world))
      return { query: { limit: '1', updated_since: '2020-01-01T00:00:00Z' } }
    },
  },
  createPriceChange: { 201: async (world) => ({ body: await pricesOf(world) }) },
  getPriceChange: {
    200: async (world) => ({
      params: { id: (await world.create('/catalog/price-changes', await pricesOf(world))).id },
    }),
  },
  cancelPriceChange: {
    200: async (world) => ({
      params: { id: (await world.create('/catalog/price-changes', await pricesOf(world, TOMORROW))).id },
    }),
  },
  undoPriceChange: {
    200: async (world) => ({
      params: { id: (await world.create('/catalog/price-changes', await pricesOf(world))).id },
    }),
  },
  listCatalogItemMovements: {
    200: async (world) => ({
      params: { id: (await purchase(world)).catalog_item_id },
      query: { updated_since: '2020-01-01T00:00:00Z' },
    }),
  },
  listStockMovements: {
    200: async (world) => {
      await world.create('/stock/movements', await purchase(world))
      return { query: { limit: '1', kind: 'purchase' } }
    },
  },
  createStockMovement: {
    201: async (world) => ({ body: await purchase(world) }),
    insufficient_stock: async (world) => ({ body: await loss(world) }),
  },
  batchStockMovements: {
    200: async (world) => ({ body: { items: [await purchase(world), await purchase(world)] } }),
    207: async (world) => ({ body: { items: [await purchase(world), {}] } }),
    'item:validation_failed': async (world) => ({ body: { items: [{ ...(await purchase(world)), unknown: 1 }] } }),
    'item:insufficient_stock': async (world) => ({ body: { items: [await loss(world)] } }),
  },
  listLowStock: {
    200: async (world) => {
      await world.create('/catalog/items', { name: 'Café', price: '18.90', stock: '5', min_stock: '6' })
      return {}
    },
  },
  listInventories: {
    200: async (world) => {
      await openInventory(world)
      return { query: { status: 'open' } }
    },
  },
  createInventory: { 201: async () => ({ body: { name: 'Mercearia' } }) },
  getInventory: { 200: async (world) => ({ params: { id: (await openInventory(world)).id } }) },
  listInventoryCounts: {
    200: async (world) => {
      const { id } = await openInventory(world)
      await world.company.post(`/stock/inventories/${id}/counts`, await countOf(world))
      return { params: { id } }
    },
  },
  countInventory: {
    200: async (world) => ({ params: { id: (await openInventory(world)).id }, body: await countOf(world) }),
    inventory_closed: async (world) => ({ params: { id: await closedInventory(world) }, body: await countOf(world) }),
  },
  closeInventory: {
    200: async (world) => ({ params: { id: (await openInventory(world)).id }, body: { apply: true } }),
  },
}

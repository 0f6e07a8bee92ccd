import type { Cases } from './case.ts'
import type { World } from './world.ts'

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

export const stockCases: Cases = {
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

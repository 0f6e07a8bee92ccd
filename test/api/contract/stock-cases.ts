import type { Cases } from './case.ts'
import type { World } from './world.ts'

/** A purchase for a new item with a stock of 5. */
async function purchase(world: World, fields: object = {}) {
  const { id } = await world.create('/catalog/items', { name: 'Café', price: '18.90', stock: '5' })
  return { catalog_item_id: id, kind: 'purchase', quantity: '2', unit_cost: '9.00', ...fields }
}

const loss = (world: World) => purchase(world, { kind: 'loss', quantity: '6', unit_cost: null })

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
}

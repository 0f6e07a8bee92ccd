import type { Cases } from './case.ts'
import { recordCases } from './record-cases.ts'

const items = recordCases({
  path: '/catalog/items',
  names: ['CatalogItem', 'CatalogItems'],
  fresh: (world) => ({ name: 'Café', price: '18.90', cost: '11.00', barcode: world.unique('789'), stock: '5' }),
  changes: { price: '19.90', stock_adjustment: '1.5' },
  unique: 'barcode',
})

export const catalogCases: Cases = {
  ...items,
  updateCatalogItem: {
    ...items.updateCatalogItem,
    insufficient_stock: async (world) => {
      const { id } = await world.create('/catalog/items', { name: 'Chá', price: '9.00', stock: '2' })
      return { params: { id }, body: { stock_adjustment: '-3' } }
    },
  },
  listCategories: { 200: () => ({ query: { name: 'a' } }) },
  getCategory: {
    200: async (world) => {
      const { id } = await world.create('/catalog/categories', { name: world.unique('Bebidas') })
      return { params: { id } }
    },
  },
  createCategory: {
    201: (world) => ({ body: { name: world.unique('Bebidas'), external_id: world.unique('ext') } }),
    duplicate_resource: async (world) => {
      const { name } = await world.create('/catalog/categories', { name: world.unique('Bebidas') })
      return { body: { name } }
    },
  },
}

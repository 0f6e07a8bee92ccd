import type { Cases } from './case.ts'
import { recordCases } from './record-cases.ts'
import type { World } from './world.ts'

const items = recordCases({
  path: '/catalog/items',
  names: ['CatalogItem', 'CatalogItems'],
  fresh: (world) => ({ name: 'Café', price: '18.90', cost: '11.00', barcode: world.unique('789'), stock: '5' }),
  changes: { price: '19.90', stock_adjustment: '1.5' },
  unique: 'barcode',
})

const categories = recordCases({
  path: '/catalog/categories',
  names: ['Category', 'Categories'],
  fresh: (world) => ({ name: world.unique('Bebidas') }),
  changes: { external_id: null },
  unique: 'name',
})

/** The smallest WebP. */
const PICTURE = { content: 'UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==' }

/** Id of an item with a picture. */
async function pictured(world: World): Promise<number> {
  const { id } = await world.create('/catalog/items', { name: 'Café', price: '9.00' })
  await world.company.call('PUT', `/catalog/items/${id}/picture`, PICTURE)
  return id
}

/** Id of a deleted item. */
async function deleted(world: World, barcode: string): Promise<number> {
  const { id } = await world.create('/catalog/items', { name: 'Mate', price: '9.00', barcode })
  await world.company.call('DELETE', `/catalog/items/${id}`)
  return id
}

/** Id of an item with a variant. */
async function withVariant(world: World): Promise<number> {
  const { id } = await world.create('/catalog/items', { name: 'Camiseta', price: '9.00' })
  const variant = { size: 'M', color: 'Azul' }
  await world.create('/catalog/items', { name: 'Camiseta M', price: '9.00', parent_id: id, variant })
  return id
}

export const catalogCases: Cases = {
  ...items,
  ...categories,
  updateCatalogItem: {
    ...items.updateCatalogItem,
    insufficient_stock: async (world) => {
      const { id } = await world.create('/catalog/items', { name: 'Chá', price: '9.00', stock: '2' })
      return { params: { id }, body: { stock_adjustment: '-3' } }
    },
  },
  deleteCatalogItem: {
    ...items.deleteCatalogItem,
    has_variants: async (world) => ({ params: { id: await withVariant(world) } }),
  },
  listCatalogItemVariants: { 200: async (world) => ({ params: { id: await withVariant(world) } }) },
  getCatalogItemPicture: { 200: async (world) => ({ params: { id: await pictured(world) } }) },
  putCatalogItemPicture: { 200: async (world) => ({ params: { id: await pictured(world) }, body: PICTURE }) },
  deleteCatalogItemPicture: { 204: async (world) => ({ params: { id: await pictured(world) } }) },
  reactivateCatalogItem: {
    200: async (world) => ({ params: { id: await deleted(world, world.unique('789')) } }),
    duplicate_resource: async (world) => {
      const barcode = world.unique('789')
      const id = await deleted(world, barcode)
      await world.create('/catalog/items', { name: 'Chá', price: '9.00', barcode })
      return { params: { id } }
    },
  },
}

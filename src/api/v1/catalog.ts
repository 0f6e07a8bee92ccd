import { z } from 'zod'
import { CreateCategoryInput, createCategory } from '#commands/catalog/categories.ts'
import { ItemChanges } from '#commands/catalog/item-input.ts'
import {
  CreateItemInput,
  createItem,
  deactivateItem,
  ReplaceItemInput,
  replaceItem,
  updateItem,
} from '#commands/catalog/items.ts'
import { ExternalId, text } from '#domain/text.ts'
import { ITEM_TYPES } from '#events/catalog.ts'
import { QueryId } from '#http/query-values.ts'
import { getCategory, listCategories } from '#queries/catalog/categories.ts'
import { getItem, listDeletedItems, listItems } from '#queries/catalog/items.ts'
import { singleOf } from '../contract/envelopes.ts'
import { CatalogItem, Category, itemExample } from '../contract/records/catalog.ts'
import { type Route, write } from '../route.ts'
import { getRoute, listRoute, recordRoutes } from './record-routes.ts'

const items = recordRoutes({
  path: '/catalog/items',
  area: 'catalog',
  one: 'um produto ou serviço',
  all: 'os produtos e serviços',
  names: ['CatalogItem', 'CatalogItems'],
  record: CatalogItem,
  examples: { whole: itemExample, changes: { price: '19.90', stock_adjustment: '-2' } },
  refusals: {
    create: ['duplicate_resource'],
    replace: ['duplicate_resource'],
    update: ['duplicate_resource', 'insufficient_stock'],
  },
  /** The name is part of a name, the others are exact. */
  filters: {
    name: text(120).optional(),
    sku: text(60).optional(),
    barcode: text(60).optional(),
    category_id: QueryId.optional(),
    type: z.enum(ITEM_TYPES).optional(),
    external_id: ExternalId.optional(),
  },
  list: listItems,
  deleted: listDeletedItems,
  get: getItem,
  create: { body: CreateItemInput.meta({ id: 'CatalogItemInput' }), command: createItem },
  replace: { item: ReplaceItemInput.meta({ id: 'CatalogItemBatchItem' }), command: replaceItem },
  update: { body: ItemChanges.meta({ id: 'CatalogItemChanges' }), command: updateItem },
  remove: deactivateItem,
})

const categories: readonly Route[] = [
  listRoute({
    path: '/catalog/categories',
    scope: 'catalog:read',
    operation: 'listCategories',
    summary: 'Lista as categorias',
    record: Category,
    filters: { name: text(80).optional(), external_id: ExternalId.optional() },
    ofLedger: true,
    list: listCategories,
  }),
  getRoute({
    path: '/catalog/categories/:id',
    scope: 'catalog:read',
    operation: 'getCategory',
    summary: 'Mostra uma categoria',
    record: Category,
    get: getCategory,
  }),
  write({
    method: 'post',
    path: '/catalog/categories',
    scope: 'catalog:write',
    operation: 'createCategory',
    summary: 'Cria uma categoria',
    body: CreateCategoryInput.meta({ id: 'CategoryInput' }),
    example: { external_id: 'CAT-1', name: 'Bebidas' },
    reply: singleOf(Category),
    refusals: ['duplicate_resource'],
    command: createCategory,
    input: (_params, body) => body,
  }),
]

export const catalogRoutes: readonly Route[] = [...items, ...categories]

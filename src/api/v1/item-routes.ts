import * as z from 'zod'
import {
  CategoryChanges,
  CreateCategoryInput,
  createCategory,
  deleteCategory,
  deleteItemPicture,
  PictureInput,
  ReplaceCategoryInput,
  replaceCategory,
  setItemPicture,
  updateCategory,
} from '#commands/catalog-commands.ts'
import {
  CreateItemInput,
  createItem,
  deactivateItem,
  ReplaceItemInput,
  reactivateItem,
  replaceItem,
  updateItem,
} from '#commands/item-commands.ts'
import { ItemChanges, itemWarnings } from '#commands/record-commands.ts'
import { pathId, withId } from '#http/paths.ts'
import { isRefusal } from '#ledger/command.ts'
import { type CategoryObject, categoryByExternalId, type ItemObject, itemByExternalId } from '#projections/catalog.ts'
import { findPicture } from '#queries/company-queries.ts'
import {
  getAnyCategory,
  getAnyItem,
  getCategoryByExternalId,
  getItem,
  getItemByExternalId,
  listCategories,
  listDeletedCategories,
  listDeletedItems,
  listItems,
} from '#queries/item-queries.ts'
import { answerShape, ContractRecordId, queryShape } from '#records/field.ts'
import {
  CATEGORY_FIELDS,
  CATEGORY_FILTERS,
  CATEGORY_STATE,
  ITEM_FIELDS,
  ITEM_FILTERS,
  ITEM_STATE,
} from '#records/items.ts'
import { commandRoute, type Route, readRoute, single } from '../api-route.ts'
import { pageSchema, singleSchema } from '../contract/contract-document.ts'
import { answerPage, listQuery, recordRoutes } from './record-routes.ts'

/** Request example. */
const itemExample = {
  external_id: 'CAFE-500',
  type: 'product',
  name: 'Café torrado 500 g',
  sku: 'CAF500',
  barcode: '7891234567895',
  unit: 'UN',
  price: '18.90',
  cost: '11.40',
  gtin: '7891234567895',
  ncm: '09012100',
  cest: '1709600',
  min_stock: '6',
  origin: '0',
  cfop: '5102',
  csosn: '102',
  pis_cst: '49',
  cofins_cst: '49',
  ibs_cbs_cst: '000',
  ibs_cbs_class: '000001',
  stock: '24',
}

/** The same item in answers. */
const shownItemExample = {
  id: 9,
  ...itemExample,
  icms_cst: null,
  cbenef: null,
  min_stock: '6.000',
  picture_url: null,
  parent_id: null,
  variant: null,
  metadata: null,
  category_id: 3,
  stock: '24.000',
  stock_updated_at: '2026-11-21T08:17:15.123-03:00',
  created_at: '2026-11-21T08:17:15.123-03:00',
  updated_at: '2026-11-21T08:17:15.123-03:00',
  deleted_at: null,
  category_name: 'Bebidas',
}

const categoryExample = {
  id: 3,
  external_id: 'CAT-1',
  name: 'Bebidas',
  created_at: '2026-11-21T08:17:15.123-03:00',
  updated_at: '2026-11-21T08:17:15.123-03:00',
  deleted_at: null,
}

const CatalogItem = z
  .strictObject({ id: ContractRecordId, ...answerShape({ ...ITEM_FIELDS, ...ITEM_STATE }) })
  .meta({ id: 'CatalogItem', examples: [shownItemExample] }) satisfies z.ZodType<ItemObject>

const Category = z
  .strictObject({ id: ContractRecordId, ...answerShape({ ...CATEGORY_FIELDS, ...CATEGORY_STATE }) })
  .meta({ id: 'Category', examples: [categoryExample] }) satisfies z.ZodType<CategoryObject>

const items = recordRoutes({
  path: '/catalog/items',
  area: 'catalog',
  one: 'um produto ou serviço',
  all: 'os produtos e serviços',
  names: ['CatalogItem', 'CatalogItems'],
  record: CatalogItem,
  target: { kind: 'catalog_item', byExternalId: itemByExternalId },
  examples: { whole: itemExample, changes: { price: '19.90', stock_adjustment: '-2' } },
  refusals: {
    create: ['duplicate_resource'],
    replace: ['duplicate_resource'],
    update: ['duplicate_resource', 'insufficient_stock'],
    remove: ['has_variants'],
  },
  filters: queryShape(ITEM_FILTERS),
  list: listItems,
  deleted: listDeletedItems,
  get: getAnyItem,
  getByExternalId: getItemByExternalId,
  create: { body: CreateItemInput.meta({ id: 'CatalogItemInput' }), command: createItem },
  replace: { item: ReplaceItemInput.meta({ id: 'CatalogItemBatchItem' }), command: replaceItem },
  update: { body: ItemChanges.meta({ id: 'CatalogItemChanges' }), command: updateItem },
  remove: deactivateItem,
  warnings: itemWarnings,
  canBeStrict: true,
})

/** Request example of a category. */
const categoryInput = { external_id: 'CAT-1', name: 'Bebidas' }

const categories = recordRoutes({
  path: '/catalog/categories',
  area: 'catalog',
  one: 'uma categoria',
  all: 'as categorias',
  names: ['Category', 'Categories'],
  record: Category,
  target: { kind: 'category', byExternalId: categoryByExternalId },
  examples: { whole: categoryInput, changes: { name: 'Bebidas frias' } },
  // They depend on other records: they are those of the commands (PERSON-820).
  warnings: () => [],
  refusals: {
    create: ['duplicate_resource'],
    replace: ['duplicate_resource'],
    update: ['duplicate_resource'],
  },
  filters: queryShape(CATEGORY_FILTERS),
  list: listCategories,
  deleted: listDeletedCategories,
  get: getAnyCategory,
  getByExternalId: getCategoryByExternalId,
  create: { body: CreateCategoryInput.meta({ id: 'CategoryInput' }), command: createCategory },
  replace: { item: ReplaceCategoryInput.meta({ id: 'CategoryBatchItem' }), command: replaceCategory },
  update: { body: CategoryChanges.meta({ id: 'CategoryChanges' }), command: updateCategory },
  remove: deleteCategory,
})

const Picture = z
  .strictObject({
    url: z.string(),
    sha256: z.string(),
    size: z.int().positive(),
    content: z.string(),
  })
  .meta({
    id: 'Picture',
    examples: [
      {
        url: `/pictures/1/42/${'0b'.repeat(32)}.webp`,
        sha256: '0b'.repeat(32),
        size: 44,
        content: 'UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAgA0JaQAA3AA/vuUAAA=',
      },
    ],
  })

const reactivation = commandRoute({
  method: 'post',
  path: '/catalog/items/:id/reactivate',
  scope: 'catalog:write',
  operation: 'reactivateCatalogItem',
  summary: 'Reativa um produto ou serviço excluído',
  description:
    'Volta como era, sob o mesmo id; sem a categoria, se ela não existe mais. 409 se o código de barras passou a outro item. O que não foi excluído fica como está.',
  command: reactivateItem,
  status: 200,
  reply: singleSchema(CatalogItem),
  refusals: ['duplicate_resource'],
  input: (params) => withId(params, {}),
})

const VariantsQuery = listQuery({})

const variants = readRoute<z.infer<typeof VariantsQuery>>({
  path: '/catalog/items/:id/variants',
  scope: 'catalog:read',
  operation: 'listCatalogItemVariants',
  summary: 'Lista as variações de um item',
  description: 'Os itens ativos com este `parent_id`, cada um com seu tamanho e sua cor em `variant`.',
  query: VariantsQuery,
  reply: pageSchema(CatalogItem),
  refusals: ['test_data_erased'],
  ofLedger: true,
  async read({ reader, params, query }) {
    const parent_id = pathId(params.id)
    if (parent_id === null) return null
    const page = await listItems(reader, { ...query, parent_id })
    const { record } = isRefusal(page) ? { record: '' } : await getItem(reader, parent_id)
    return record === null ? null : answerPage(page, query.limit)
  },
})

const pictures: readonly Route[] = [
  readRoute({
    path: '/catalog/items/:id/picture',
    scope: 'catalog:read',
    operation: 'getCatalogItemPicture',
    summary: 'Mostra a imagem de um item',
    description: 'O endereço público da imagem, que muda com o conteúdo, é `picture_url` do item.',
    reply: singleSchema(Picture),
    async read({ reader, params }) {
      const id = pathId(params.id)
      const { record, revision } = id === null ? { record: null, revision: 0 } : await getItem(reader, id)
      const url = record === null ? null : (JSON.parse(record) as ItemObject).picture_url
      const [, sha256 = ''] = /([0-9a-f]{64})\.webp$/.exec(url ?? '') ?? []
      const content = id === null || url === null ? null : await findPicture(reader, id, sha256)
      if (content === null) return null
      const picture = { url, sha256, size: content.length, content: content.toString('base64') }
      return { body: single(JSON.stringify(picture)), revision }
    },
  }),
  commandRoute({
    method: 'put',
    path: '/catalog/items/:id/picture',
    scope: 'catalog:write',
    operation: 'putCatalogItemPicture',
    summary: 'Troca a imagem de um item',
    description:
      'WebP de até 200 KB, conferida pelos bytes. No lugar do JSON, o corpo pode ser a própria imagem, com `Content-Type: image/webp`.',
    body: PictureInput.meta({ id: 'PictureInput' }),
    example: { content: 'UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==' },
    command: setItemPicture,
    status: 200,
    reply: singleSchema(CatalogItem),
    input: (params, body) => withId(params, body),
  }),
  commandRoute({
    method: 'delete',
    path: '/catalog/items/:id/picture',
    scope: 'catalog:write',
    operation: 'deleteCatalogItemPicture',
    summary: 'Exclui a imagem de um item',
    command: deleteItemPicture,
    input: (params) => withId(params, {}),
  }),
]

export const catalogRoutes: readonly Route[] = [...items, reactivation, variants, ...pictures, ...categories]

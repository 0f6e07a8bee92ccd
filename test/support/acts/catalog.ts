import fc from 'fast-check'
import {
  CreateCategoryInput,
  createCategory,
  deleteCategory,
  ReplaceCategoryInput,
  replaceCategory,
  UpdateCategoryInput,
  updateCategory,
} from '#commands/catalog-commands.ts'
import {
  CreateItemInput,
  createItem,
  deactivateItem,
  ReplaceItemInput,
  reactivateItem,
  replaceItem,
  UpdateItemInput,
  updateItem,
} from '#commands/item-commands.ts'
import { RecordId } from '#commands/record-commands.ts'
import { recordStockMovement, StockMovementInput } from '#commands/stock-commands.ts'
import { type Act, byId, maybe, nullable, place } from './act.ts'
import { changing, externalId, money, name, rarely } from './values.ts'

const itemShape = {
  type: maybe(fc.constantFrom('product', 'product', 'product', 'product', 'product', 'service')),
  sku: nullable(name),
  barcode: nullable(fc.nat({ max: 30 }).map(String)),
  category_id: nullable(place),
  unit: nullable(fc.constant('UN')),
  cost: nullable(money),
  gtin: nullable(fc.constantFrom('96385074', '7891234567895')),
  ncm: nullable(fc.constant('0901.21.00')),
  stock: maybe(fc.constantFrom('5', '100.5', '100.5', '999999999.999', null)),
}
const item = fc.record({ external_id: nullable(externalId), name, price: money, ...itemShape })
const itemAtExternalId = fc.record({ external_id: externalId, name, price: money, ...itemShape })
const itemChanges = fc.record({
  external_id: nullable(externalId),
  name: maybe(name),
  price: maybe(money),
  ...itemShape,
  stock_adjustment: rarely(fc.constantFrom('1', '-0.5', '0.001')),
})

/** Categories and items. */
export const catalogActs = {
  createCategory: {
    kind: 'category',
    weight: 2,
    command: createCategory,
    schema: CreateCategoryInput,
    input: fc.record({ external_id: nullable(externalId), name }),
  },
  replaceCategory: {
    kind: 'category',
    weight: 3,
    command: replaceCategory,
    schema: ReplaceCategoryInput,
    input: fc.record({ external_id: externalId, name }),
  },
  updateCategory: {
    kind: 'category',
    weight: 1,
    command: updateCategory,
    schema: UpdateCategoryInput,
    input: changing(fc.record({ external_id: nullable(externalId), name: maybe(name) })),
  },
  deleteCategory: { kind: 'category', weight: 1, command: deleteCategory, schema: RecordId, input: byId },
  recordStockMovement: {
    kind: 'stock_movement',
    weight: 4,
    command: recordStockMovement,
    schema: StockMovementInput,
    input: fc.record({
      catalog_item_id: place,
      kind: fc.constantFrom('purchase', 'count', 'loss', 'adjustment'),
      quantity: fc.constantFrom('1', '2.5', '0', '-1', '30'),
      unit_cost: rarely(money),
      document: maybe(fc.constant('NF 1')),
    }),
  },
  createItem: { kind: 'catalog_item', weight: 4, command: createItem, schema: CreateItemInput, input: item },
  replaceItem: {
    kind: 'catalog_item',
    weight: 5,
    command: replaceItem,
    schema: ReplaceItemInput,
    input: itemAtExternalId,
  },
  updateItem: {
    kind: 'catalog_item',
    weight: 4,
    command: updateItem,
    schema: UpdateItemInput,
    input: changing(itemChanges),
  },
  deactivateItem: {
    kind: 'catalog_item',
    weight: 4,
    command: deactivateItem,
    schema: RecordId,
    input: byId,
  },
  reactivateItem: {
    kind: 'catalog_item',
    weight: 2,
    command: reactivateItem,
    schema: RecordId,
    input: byId,
  },
} satisfies Record<string, Act>

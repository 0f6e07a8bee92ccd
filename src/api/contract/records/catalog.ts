import { z } from 'zod'
import { ITEM_TYPES } from '#events/catalog.ts'
import type { CategoryObject, ItemObject } from '#projections/catalog.ts'
import { Amount, NullableText, RecordId, ThreeDecimals, Timestamp } from '../formats.ts'

/** An item as a request sends it. */
export const itemExample = {
  external_id: 'CAFE-500',
  type: 'product',
  name: 'Café torrado 500 g',
  sku: 'CAF500',
  barcode: '7891234567895',
  unit: 'UN',
  price: '18.90',
  cost: '11.40',
  stock: '24',
}

/** The same item as answers show it. */
const shownExample = {
  id: 9,
  ...itemExample,
  category_id: 3,
  stock: '24.000',
  stock_updated_at: '2026-11-21T08:17:15.123-03:00',
  created_at: '2026-11-21T08:17:15.123-03:00',
  updated_at: '2026-11-21T08:17:15.123-03:00',
  category_name: 'Bebidas',
}

const categoryExample = {
  id: 3,
  external_id: 'CAT-1',
  name: 'Bebidas',
  created_at: '2026-11-21T08:17:15.123-03:00',
  updated_at: '2026-11-21T08:17:15.123-03:00',
}

export const CatalogItem = z
  .strictObject({
    id: RecordId,
    external_id: NullableText,
    type: z.enum(ITEM_TYPES),
    name: z.string(),
    sku: NullableText,
    barcode: NullableText,
    category_id: RecordId.nullable(),
    unit: NullableText,
    price: Amount,
    cost: Amount.nullable(),
    stock: ThreeDecimals.nullable(),
    stock_updated_at: Timestamp.nullable(),
    created_at: Timestamp,
    updated_at: Timestamp,
    category_name: NullableText,
  })
  .meta({ id: 'CatalogItem', examples: [shownExample] }) satisfies z.ZodType<ItemObject>

export const Category = z
  .strictObject({
    id: RecordId,
    external_id: NullableText,
    name: z.string(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'Category', examples: [categoryExample] }) satisfies z.ZodType<CategoryObject>

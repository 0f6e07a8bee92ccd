import { z } from 'zod'
import { Cest, Gtin, Ncm } from '#domain/fiscal-codes.ts'
import { Money } from '#domain/money.ts'
import { SignedQuantity, StockQuantity } from '#domain/quantity.ts'
import { ExternalId, Id, text } from '#domain/text.ts'
import { ITEM_TYPES } from '#events/catalog.ts'

const optionalShape = {
  sku: text(60).nullish(),
  barcode: text(60).nullish(),
  category_id: Id.nullish(),
  unit: text(10).nullish(),
  cost: Money.nullish(),
  gtin: Gtin.nullish(),
  ncm: Ncm.nullish(),
  cest: Cest.nullish(),
  /** The new absolute quantity; null is untracked, absent is left alone. */
  stock: StockQuantity.nullish(),
}

/** Fields of a whole item, external id aside: POST, PUT and batch items. */
export const itemShape = {
  type: z.enum(ITEM_TYPES).default('product'),
  name: text(120),
  price: Money,
  ...optionalShape,
}

/** The body of PATCH /catalog/items/{id}: absent is left alone, null clears what may be empty. */
export const ItemChanges = z
  .strictObject({
    external_id: ExternalId.nullish(),
    type: z.enum(ITEM_TYPES).optional(),
    name: text(120).optional(),
    price: Money.optional(),
    ...optionalShape,
    /** Added to the stock, whatever it is by then, so that it cannot erase concurrent sales. */
    stock_adjustment: SignedQuantity.optional(),
  })
  .superRefine(({ stock, stock_adjustment }, context) => {
    if (stock === undefined || stock_adjustment === undefined) return
    context.addIssue({ code: 'custom', path: ['stock_adjustment'], message: 'não pode ser enviado junto com stock' })
  })
export type ItemChanges = z.infer<typeof ItemChanges>

const item = z.strictObject(itemShape)
export type ItemInput = z.infer<typeof item>

export const NO_STOCK_OF_SERVICES = 'um serviço não tem estoque'

/** For `superRefine` of the schema of a whole item. */
export function checkStock({ type, stock }: Pick<ItemInput, 'type' | 'stock'>, context: z.RefinementCtx): void {
  if (type === 'product' || stock === undefined || stock === null) return
  context.addIssue({ code: 'custom', path: ['stock'], message: NO_STOCK_OF_SERVICES })
}

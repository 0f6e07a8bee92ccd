import * as z from 'zod'
import { Barcode, barcodeProblem } from '#domain/barcode.ts'
import { Cest, Gtin, itemTaxProblem, itemTaxShape, Ncm } from '#domain/fiscal-values.ts'
import { Money, toCents } from '#domain/money.ts'
import { isBrokenPiece, SignedQuantity, StockQuantity } from '#domain/quantity.ts'
import { MetadataInput } from '#domain/record-values.ts'
import { boundedText, Id, NewExternalId, nameText, orDefault, orNone } from '#domain/text.ts'
import { ITEM_TYPES } from '#events/catalog-events.ts'

/** Type of an item without one. */
export const DEFAULT_TYPE = 'product'

const optionalShape = {
  sku: orNone(boundedText(60)),
  barcode: Barcode.nullish(),
  category_id: Id.nullish(),
  unit: boundedText(10).nullish(),
  cost: Money.nullish(),
  gtin: Gtin.nullish(),
  ncm: orNone(Ncm),
  cest: orNone(Cest),
  /** Absent: unchanged, also in a PUT. */
  min_stock: StockQuantity.nullish(),
  /** A variant of another item, in a size and a colour; absent: unchanged, also in a PUT. */
  parent_id: Id.nullish(),
  variant: z
    .strictObject({ size: boundedText(30).nullish(), color: boundedText(30).nullish() })
    .refine(({ size, color }) => (size ?? color ?? null) !== null, 'informe size, color ou ambos')
    .transform(({ size, color }) => ({ size: size ?? null, color: color ?? null }))
    .meta({ id: 'VariantInput' })
    .nullish(),
  ...itemTaxShape,
  /** Absent: unchanged, also in a PUT. */
  metadata: MetadataInput.nullish(),
  /** New absolute quantity. Null: stock is not tracked; absent: unchanged. */
  stock: StockQuantity.nullish(),
}

/** Fields of a whole item except its external id: POST, PUT and batch items. */
export const itemShape = {
  type: orDefault(z.enum(ITEM_TYPES), DEFAULT_TYPE),
  name: nameText(120),
  price: Money,
  ...optionalShape,
}

/** Body of PATCH /catalog/items/{id}. Absent fields stay unchanged; null clears optional ones. */
export const ItemChanges = z
  .strictObject({
    external_id: NewExternalId.nullish(),
    type: z.enum(ITEM_TYPES).nullish(),
    name: nameText(120).optional(),
    price: Money.optional(),
    ...optionalShape,
    /** Added to the current stock, so that it cannot overwrite concurrent sales. */
    stock_adjustment: SignedQuantity.nullish(),
  })
  .superRefine(({ stock, stock_adjustment, ...item }, context) => {
    checkVariant(item, context)
    if (stock === undefined || typeof stock_adjustment !== 'string') return
    context.addIssue({ code: 'custom', path: ['stock_adjustment'], message: 'não pode ser enviado junto com stock' })
  })
export type ItemChanges = z.infer<typeof ItemChanges>

const item = z.strictObject(itemShape)
export type ItemInput = z.infer<typeof item>

export const NO_STOCK_OF_SERVICES = 'um serviço não tem estoque'

/** For `superRefine` in schemas of whole items. */
export function checkItem({ type, ...item }: ItemInput, context: z.RefinementCtx): void {
  for (const field of ['stock', 'min_stock'] as const)
    if (type !== 'product' && (item[field] ?? null) !== null)
      context.addIssue({ code: 'custom', path: [field], message: NO_STOCK_OF_SERVICES })
  checkVariant(item, context)
  const problem = itemTaxProblem(item)
  if (problem) context.addIssue({ code: 'custom', path: [problem.field], message: problem.message })
}

/** A variant has an item and a size or colour: they are sent together. */
function checkVariant(
  { parent_id, variant }: { readonly parent_id?: unknown; readonly variant?: unknown },
  context: z.RefinementCtx,
): void {
  if (
    (parent_id === undefined) === (variant === undefined) &&
    ((parent_id ?? null) === null) === ((variant ?? null) === null)
  )
    return
  context.addIssue({ code: 'custom', path: ['variant'], message: 'parent_id e variant são informados juntos' })
}

export const WARNING_CODES = [
  'barcode_check_digit',
  'barcode_not_gtin',
  'barcode_in_use',
  'name_in_use',
  'gtin_in_use',
  'price_zero',
  'price_below_cost',
  'quantity_not_whole',
  'payment_already_used',
] as const

/** Problem to review, in a request that is carried out. */
export interface Warning {
  readonly code: (typeof WARNING_CODES)[number]
  readonly field: string
  /** In Portuguese. */
  readonly message: string
  /** The other record, of a warning about one. */
  readonly conflicting_id?: number
  readonly sale_id?: number
}

/** Remarks of a command with warnings that depend on other records. */
export interface CommandWarnings {
  readonly warnings: readonly Warning[]
}

const BARCODE_WARNINGS = {
  wrong_check_digit: { code: 'barcode_check_digit', message: 'o dígito verificador deste GTIN está errado' },
  not_gtin: { code: 'barcode_not_gtin', message: 'não é um GTIN-8, GTIN-12, GTIN-13 ou GTIN-14' },
} as const

/** Warnings about a barcode: shops have codes of their own, and labels with errors (ITEM-7). */
export function itemWarnings({ barcode }: { readonly barcode?: string | null | undefined }): Warning[] {
  const problem = barcode ? barcodeProblem(barcode) : null
  return problem ? [{ field: 'barcode', ...BARCODE_WARNINGS[problem] }] : []
}

/** Warning of a quantity that is a fraction of a piece (ITEM-102). */
export const brokenPieceWarnings = (
  unit: string | null | undefined,
  quantities: Readonly<Record<string, string | null | undefined>>,
): Warning[] =>
  Object.entries(quantities).flatMap(([field, quantity]) =>
    typeof quantity === 'string' && isBrokenPiece(unit, quantity)
      ? [{ code: 'quantity_not_whole', field, message: `não é uma quantidade inteira de ${unit}` }]
      : [],
  )

/** Warnings of prices that lose money: only of what a request sets (ITEM-101). */
export function priceWarnings({ price, cost }: Pick<ItemInput, 'price' | 'cost'>, isSet: boolean): Warning[] {
  if (!isSet) return []
  if (toCents(price) === 0) return [{ code: 'price_zero', field: 'price', message: 'o preço é R$ 0,00' }]
  return cost && toCents(price) < toCents(cost) ? [{ ...BELOW_COST, field: 'price' }] : []
}

const BELOW_COST = { code: 'price_below_cost', message: 'o preço está abaixo do custo' } as const

/** Warning of a purchase at more than the item's price. */
export const costWarnings = (price: string, unit_cost: string): Warning[] =>
  toCents(price) < toCents(unit_cost) ? [{ ...BELOW_COST, field: 'unit_cost' }] : []

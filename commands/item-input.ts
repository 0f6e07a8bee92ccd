import * as z from 'zod'
import { itemTaxProblem } from '#domain/fiscal-values.ts'
import { isBrokenPiece, SignedQuantity, toCents } from '#domain/money.ts'
import { barcodeProblem } from '#domain/record-values.ts'
import { changesShape, type wholeShape } from '#records/field.ts'
import { ITEM_FIELDS } from '#records/items.ts'

/** Body of PATCH /catalog/items/{id}. Absent fields stay unchanged; null clears optional ones. */
export const ItemChanges = z
  .strictObject({
    ...changesShape(ITEM_FIELDS),
    /** Added to the current stock, so that it cannot overwrite concurrent sales. */
    stock_adjustment: SignedQuantity.nullish(),
  })
  .superRefine(({ stock, stock_adjustment, ...item }, context) => {
    checkVariant(item, context)
    if (stock === undefined || typeof stock_adjustment !== 'string') return
    context.addIssue({ code: 'custom', path: ['stock_adjustment'], message: 'não pode ser enviado junto com stock' })
  })
export type ItemChanges = z.infer<typeof ItemChanges>

export type ItemInput = z.infer<z.ZodObject<ReturnType<typeof wholeShape<typeof ITEM_FIELDS>>>>

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

/** Warnings about a barcode: shops have codes of their own, and labels with errors. */
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

/** Warnings of prices that lose money: only of what a request sets. */
export function priceWarnings({ price, cost }: Pick<ItemInput, 'price' | 'cost'>, isSet: boolean): Warning[] {
  if (!isSet) return []
  if (toCents(price) === 0) return [{ code: 'price_zero', field: 'price', message: 'o preço é R$ 0,00' }]
  return cost && toCents(price) < toCents(cost) ? [{ ...BELOW_COST, field: 'price' }] : []
}

const BELOW_COST = { code: 'price_below_cost', message: 'o preço está abaixo do custo' } as const

/** Warning of a purchase at more than the item's price. */
export const costWarnings = (price: string, unit_cost: string): Warning[] =>
  toCents(price) < toCents(unit_cost) ? [{ ...BELOW_COST, field: 'unit_cost' }] : []

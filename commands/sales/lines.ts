import * as z from 'zod'
import { fiscalCodesOf } from '#domain/item-taxes.ts'
import { fromCents, lineTotal, lineTotalFits, MAX_CENTS, Money, toCents } from '#domain/money.ts'
import { fromThousandths, Quantity, toThousandths } from '#domain/quantity.ts'
import { invalid, type Refusal } from '#domain/refusal.ts'
import { type LineAmounts, sumSale, totalOfLine } from '#domain/sale-discount.ts'
import { boundedText, ExternalId, Id } from '#domain/text.ts'
import type { DataOf } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { type ItemRow, itemByExternalId, itemById } from '#projections/catalog.ts'
import { stockMoves, stockOf, thousandthsByItem } from '#projections/stock.ts'

type SaleItem = DataOf<'SaleCompleted'>['items'][number]

/** Item fields stored in a sale: its current description and fiscal codes, and whether its stock is tracked. */
export function soldItem(rows: Rows, { id, external_id, doc }: Readonly<ItemRow>) {
  const moves_stock = stockOf(rows, id) !== null
  return { catalog_item_id: id, external_id, description: doc.name, moves_stock, ...fiscalCodesOf(doc) }
}

/** Quantities that lines take from stock, in thousandths per item. An item may be on several lines. */
export const quantitiesTaken = (items: readonly SaleItem[]): Map<number, number> => thousandthsByItem(stockMoves(items))

const IDENTIFIER = 'informe exatamente um entre catalog_item_id, catalog_item_external_id e description'

const line = z.strictObject({
  catalog_item_id: Id.nullish(),
  catalog_item_external_id: ExternalId.nullish(),
  description: boundedText(200).nullish(),
  quantity: Quantity,
  unit_price: Money.nullish(),
})
const saleLine = line.extend({ discount: Money.nullish() })
type LineInput = z.infer<typeof line> & Pick<z.infer<typeof saleLine>, 'discount'>

/** A line names its item in exactly one way; an ad-hoc item (description) needs a price (SALE-3). */
function checkLine(item: LineInput, context: z.RefinementCtx): void {
  const given = [item.catalog_item_id, item.catalog_item_external_id, item.description].filter(
    (value) => value !== undefined && value !== null,
  )
  if (given.length !== 1) context.addIssue({ code: 'custom', message: IDENTIFIER })
  else if (typeof item.description === 'string' && typeof item.unit_price !== 'string') {
    context.addIssue({ code: 'custom', path: ['unit_price'], message: 'preencha este campo: é um item avulso' })
  }
}

const linesOf = <L extends z.ZodType<LineInput>>(each: L) =>
  z.array(each).min(1, 'informe ao menos um item').max(500, 'no máximo 500 itens')

/** Lines of an order: 1 to 500. */
export const LinesInput = linesOf(line.superRefine(checkLine).meta({ id: 'OrderItemInput' }))

/** Lines of a sale, which may have discounts. */
export const SaleLinesInput = linesOf(saleLine.superRefine(checkLine).meta({ id: 'SaleItemInput' }))

/** Priced lines with total = subtotal - discount + delivery fee. */
interface PricedLines {
  readonly items: SaleItem[]
  readonly subtotal: string
  /** Absent if there is none. */
  readonly discount?: string
  readonly delivery_fee: string
  readonly total: string
}

interface LinesToPrice {
  readonly items: readonly LineInput[]
  readonly discount?: string | null | undefined
  readonly delivery_fee?: string | null | undefined
}

/** Catalog rows of the lines. */
export const lineRefs = (lines: readonly LineInput[]) => lines.flatMap((line) => lineRef(line) ?? [])

/**
 * Prices the lines of a sale or an order: list price by default, line totals rounded half up to the cent, less their
 * discounts. Refuses unknown items, totals above the limit, and discounts above what they are deducted from (SALE-24).
 */
export function priceLines(
  rows: Rows,
  { items, discount: wanted, delivery_fee: fee }: LinesToPrice,
): PricedLines | Refusal {
  const priced: SaleItem[] = []
  const amounts: LineAmounts[] = []
  for (const [position, input] of items.entries()) {
    const line = priceLine(rows, input, position)
    if (isRefusal(line)) return line
    priced.push(line.item)
    amounts.push(line)
  }
  const [deliveryFee, discount] = [toCents(fee ?? '0.00'), toCents(wanted ?? '0.00')]
  const { subtotal, total } = sumSale(amounts, discount, deliveryFee)
  if (subtotal + deliveryFee > MAX_CENTS) return invalid('items', 'o total é grande demais')
  if (discount > subtotal) return invalid('discount', `não pode passar do subtotal, ${fromCents(subtotal)}`)
  return {
    items: priced,
    subtotal: fromCents(subtotal),
    ...(discount > 0 && { discount: fromCents(discount) }),
    delivery_fee: fromCents(deliveryFee),
    total: fromCents(total),
  }
}

function lineRef(line: LineInput) {
  if (typeof line.catalog_item_id === 'number') return itemById(line.catalog_item_id)
  if (typeof line.catalog_item_external_id === 'string') return itemByExternalId(line.catalog_item_external_id)
  return null
}

interface PricedLine extends LineAmounts {
  readonly item: SaleItem
}

function priceLine(rows: Rows, input: LineInput, position: number): PricedLine | Refusal {
  const ref = lineRef(input)
  const found = ref && rows.get(ref)
  if (ref && (!found || found.deleted_at)) {
    const field = typeof input.catalog_item_id === 'number' ? 'catalog_item_id' : 'catalog_item_external_id'
    return invalid(`items[${position}].${field}`, 'item não encontrado no catálogo')
  }
  const unitPrice = input.unit_price ?? found?.doc.price
  if (unitPrice === undefined) throw new Error('price lines: ad-hoc item without a price passed validation')
  const thousandths = toThousandths(input.quantity)
  if (!lineTotalFits(thousandths, toCents(unitPrice)))
    return invalid(`items[${position}].quantity`, 'o total do item é grande demais')
  const gross = lineTotal(thousandths, toCents(unitPrice))
  const discount = toCents(input.discount ?? '0.00')
  if (discount > gross)
    return invalid(`items[${position}].discount`, `não pode passar do valor do item, ${fromCents(gross)}`)
  const item = {
    ...(found ? soldItem(rows, found) : adHocItem(input)),
    quantity: fromThousandths(thousandths),
    unit_price: unitPrice,
    total: fromCents(totalOfLine({ gross, discount })),
    ...(discount > 0 && { discount: fromCents(discount) }),
  }
  return { item, gross, discount }
}

const adHocItem = ({ description }: LineInput) => ({
  catalog_item_id: null,
  external_id: null,
  description: description ?? '',
  moves_stock: false,
})

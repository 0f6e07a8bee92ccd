import { z } from 'zod'
import { fromCents, lineTotal, lineTotalFits, MAX_CENTS, Money, toCents } from '#domain/money.ts'
import { fromThousandths, Quantity, toThousandths } from '#domain/quantity.ts'
import { invalid, type Refusal } from '#domain/refusal.ts'
import { boundedText, ExternalId, Id } from '#domain/text.ts'
import type { DataOf } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { type ItemRow, itemByExternalId, itemById } from '#projections/catalog.ts'
import { stockMoves, stockOf, thousandthsByItem } from '#projections/stock.ts'

type SaleItem = DataOf<'SaleCompleted'>['items'][number]

/** Item fields stored in a sale: its current description, and whether its stock is tracked. */
export function soldItem(rows: Rows, { id, external_id, doc }: Readonly<ItemRow>) {
  return { catalog_item_id: id, external_id, description: doc.name, moves_stock: stockOf(rows, id) !== null }
}

/** Quantities that lines take from stock, in thousandths per item. An item may be on several lines. */
export const quantitiesTaken = (items: readonly SaleItem[]): Map<number, number> => thousandthsByItem(stockMoves(items))

const IDENTIFIER = 'informe exatamente um entre catalog_item_id, catalog_item_external_id e description'

/** A line names its item in exactly one way; an ad-hoc item (description) needs a price (SALE-2, SALE-3). */
const LineInput = z
  .strictObject({
    catalog_item_id: Id.nullish(),
    catalog_item_external_id: ExternalId.nullish(),
    description: boundedText(200).nullish(),
    quantity: Quantity,
    unit_price: Money.nullish(),
  })
  .superRefine((item, context) => {
    const given = [item.catalog_item_id, item.catalog_item_external_id, item.description].filter(
      (value) => value !== undefined && value !== null,
    )
    if (given.length !== 1) context.addIssue({ code: 'custom', message: IDENTIFIER })
    else if (typeof item.description === 'string' && typeof item.unit_price !== 'string') {
      context.addIssue({ code: 'custom', path: ['unit_price'], message: 'é obrigatório para um item avulso' })
    }
  })
type LineInput = z.infer<typeof LineInput>

/** Lines of a sale or order: 1 to 500. */
export const LinesInput = z.array(LineInput).min(1, 'informe ao menos um item').max(500, 'no máximo 500 itens')

/** Priced lines with total = subtotal + delivery fee. */
interface PricedLines {
  readonly items: SaleItem[]
  readonly subtotal: string
  readonly delivery_fee: string
  readonly total: string
}

/** Catalog rows of the lines. */
export const lineRefs = (lines: readonly LineInput[]) => lines.flatMap((line) => lineRef(line) ?? [])

/**
 * Prices the lines of a sale or an order: list price by default, line totals rounded half up to the cent. Refuses
 * unknown items, and totals above the limit.
 */
export function priceLines(
  rows: Rows,
  { items, ...input }: { items: readonly LineInput[]; delivery_fee?: string | null | undefined },
): PricedLines | Refusal {
  const delivery_fee = input.delivery_fee ?? '0.00'
  const priced: SaleItem[] = []
  for (const [position, input] of items.entries()) {
    const line = priceLine(rows, input, position)
    if (isRefusal(line)) return line
    priced.push(line)
  }
  const subtotal = priced.reduce((sum, line) => sum + toCents(line.total), 0)
  const total = subtotal + toCents(delivery_fee)
  if (total > MAX_CENTS) return invalid('items', 'o total é grande demais')
  return { items: priced, subtotal: fromCents(subtotal), delivery_fee, total: fromCents(total) }
}

function lineRef(line: LineInput) {
  if (typeof line.catalog_item_id === 'number') return itemById(line.catalog_item_id)
  if (typeof line.catalog_item_external_id === 'string') return itemByExternalId(line.catalog_item_external_id)
  return null
}

function priceLine(rows: Rows, input: LineInput, position: number): SaleItem | Refusal {
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
  return {
    ...(found ? soldItem(rows, found) : adHocItem(input)),
    quantity: fromThousandths(thousandths),
    unit_price: unitPrice,
    total: fromCents(lineTotal(thousandths, toCents(unitPrice))),
  }
}

const adHocItem = ({ description }: LineInput) => ({
  catalog_item_id: null,
  external_id: null,
  description: description ?? '',
  moves_stock: false,
})

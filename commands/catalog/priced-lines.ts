import { z } from 'zod'
import { type ItemRow, itemByExternalId, itemById } from '../../projections/catalog-items.ts'
import { fromCents, lineTotal, lineTotalFits, MAX_CENTS, Money, toCents } from '../../src/domain/money.ts'
import { fromThousandths, Quantity, toThousandths } from '../../src/domain/quantity.ts'
import { invalid, type Refusal } from '../../src/domain/refusal.ts'
import { ExternalId, Id, text } from '../../src/domain/text.ts'
import { isRefusal } from '../../src/ledger/command.ts'
import type { Rows } from '../../src/ledger/working-set.ts'

const IDENTIFIER = 'informe exatamente um entre catalog_item_id, catalog_item_external_id e description'

/** A line names its article in exactly one way; an ad-hoc item (description) needs its price (spec, Sale). */
const LineInput = z
  .strictObject({
    catalog_item_id: Id.optional(),
    catalog_item_external_id: ExternalId.optional(),
    description: text(200).optional(),
    quantity: Quantity,
    unit_price: Money.optional(),
  })
  .superRefine((item, context) => {
    const given = [item.catalog_item_id, item.catalog_item_external_id, item.description].filter(
      (value) => value !== undefined,
    )
    if (given.length !== 1) context.addIssue({ code: 'custom', message: IDENTIFIER })
    else if (item.description !== undefined && item.unit_price === undefined) {
      context.addIssue({ code: 'custom', path: ['unit_price'], message: 'é obrigatório para um item avulso' })
    }
  })
type LineInput = z.infer<typeof LineInput>

/** What is sold or ordered: 1 to 500 lines. */
export const LinesInput = z.array(LineInput).min(1, 'informe ao menos um item').max(500, 'no máximo 500 itens')

/** A line with its price and its total, which is quantity × price, half up to the cent. */
interface PricedLine {
  /** Null for an ad-hoc item. */
  readonly catalog_item_id: number | null
  readonly external_id: string | null
  readonly description: string
  readonly quantity: string
  readonly unit_price: string
  readonly total: string
}

/** Lines that add up: total = subtotal + delivery fee. */
interface PricedLines<L> {
  readonly items: L[]
  readonly subtotal: string
  readonly delivery_fee: string
  readonly total: string
}

/** The catalog's rows that lines name. */
export const lineRefs = (lines: readonly LineInput[]) => lines.flatMap((line) => lineRef(line) ?? [])

/**
 * Prices lines: the list price where none is given. `more` adds to a line what else is to be known of its article, null for
 * an ad-hoc one. Refuses articles that are not in the catalog, and totals that the contract cannot carry.
 */
export function priceLines<M extends object>(
  rows: Rows,
  { items, delivery_fee = '0.00' }: { items: readonly LineInput[]; delivery_fee?: string | undefined },
  more: (found: Readonly<ItemRow> | null) => M,
): PricedLines<PricedLine & M> | Refusal {
  const priced: (PricedLine & M)[] = []
  for (const [position, input] of items.entries()) {
    const found = findItem(rows, input, position)
    if (found && isRefusal(found)) return found
    const line = priceLine(found, input, position)
    if (isRefusal(line)) return line
    priced.push({ ...line, ...more(found) })
  }
  const subtotal = priced.reduce((sum, line) => sum + toCents(line.total), 0)
  const total = subtotal + toCents(delivery_fee)
  if (total > MAX_CENTS) return invalid('items', 'o total é grande demais')
  return { items: priced, subtotal: fromCents(subtotal), delivery_fee, total: fromCents(total) }
}

function lineRef(line: LineInput) {
  if (line.catalog_item_id !== undefined) return itemById(line.catalog_item_id)
  if (line.catalog_item_external_id !== undefined) return itemByExternalId(line.catalog_item_external_id)
  return null
}

function findItem(rows: Rows, input: LineInput, position: number): Readonly<ItemRow> | null | Refusal {
  const ref = lineRef(input)
  if (!ref) return null
  const found = rows.get(ref)
  if (found && !found.deleted_at) return found
  const field = input.catalog_item_id === undefined ? 'catalog_item_external_id' : 'catalog_item_id'
  return invalid(`items[${position}].${field}`, 'item não encontrado no catálogo')
}

function priceLine(found: Readonly<ItemRow> | null, input: LineInput, position: number): PricedLine | Refusal {
  const unitPrice = input.unit_price ?? found?.doc.price
  if (unitPrice === undefined) throw new Error('an ad-hoc item without a price passed validation')
  const thousandths = toThousandths(input.quantity)
  if (!lineTotalFits(thousandths, toCents(unitPrice)))
    return invalid(`items[${position}].quantity`, 'o total do item é grande demais')
  return {
    catalog_item_id: found?.id ?? null,
    external_id: found?.external_id ?? null,
    description: found?.doc.name ?? input.description ?? '',
    quantity: fromThousandths(thousandths),
    unit_price: unitPrice,
    total: fromCents(lineTotal(thousandths, toCents(unitPrice))),
  }
}

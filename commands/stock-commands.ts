import * as z from 'zod'
import { Money } from '#domain/money.ts'
import {
  AnyQuantity,
  fromThousandths,
  MAX_THOUSANDTHS,
  Quantity,
  SignedQuantity,
  StockQuantity,
  toThousandths,
} from '#domain/quantity.ts'
import { invalid, type Refusal, refuse } from '#domain/refusals.ts'
import { ExternalId, Id, optionalText } from '#domain/text.ts'
import { RECORDED_KINDS } from '#events/catalog-events.ts'
import { event } from '#events/catalogue.ts'
import { accept, command, isRefusal, type NewEvent } from '#ledger/command.ts'
import type { Ref } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { type ItemObject, type ItemRow, itemByExternalId, itemById } from '#projections/catalog.ts'
import { movementIdOf, stockOf } from '#projections/stock.ts'
import { brokenPieceWarnings, costWarnings, type ItemChanges, NO_STOCK_OF_SERVICES } from './item-input.ts'

/** `type` is the item's type after the change. */
type ItemStock = Pick<ItemObject, 'id' | 'type' | 'stock'>

/** With exactly 3 decimals, the format of stored and returned quantities. */
export const normalizeQuantity = (quantity: string): string => fromThousandths(toThousandths(quantity))

/** Event of an absolute stock count; none if the stock stays unchanged. A service has no stock. */
export function countStock({ id, type, stock: before }: ItemStock, stock: string | null | undefined): NewEvent[] {
  const wanted = stock === undefined ? before : stock && normalizeQuantity(stock)
  const after = type === 'service' ? null : wanted
  return after === before ? [] : [event('StockAdjusted', { id, reason: 'count', before, after })]
}

/** Stock event of a PATCH. */
export function moveStock(item: ItemStock, { stock, stock_adjustment }: ItemChanges): NewEvent[] | Refusal {
  if (item.type === 'service') {
    if (stock) return invalid('stock', NO_STOCK_OF_SERVICES)
    if (typeof stock_adjustment === 'string') return invalid('stock_adjustment', NO_STOCK_OF_SERVICES)
  }
  if (typeof stock_adjustment !== 'string') return countStock(item, stock)
  const after = adjusted(item, stock_adjustment)
  return isRefusal(after) ? after : [event('StockAdjusted', after)]
}

function adjusted({ id, stock: before }: ItemStock, adjustment: string) {
  if (before === null) return invalid('stock_adjustment', 'o item não tem controle de estoque')
  const difference = toThousandths(adjustment)
  const after = toThousandths(before) + difference
  // Bounded, so that a returned quantity is always valid input.
  if (after > MAX_THOUSANDTHS) return invalid('stock_adjustment', 'o estoque resultante é grande demais')
  // Incoming goods are never refused, even if oversold offline sales leave the stock negative.
  if (after < 0 && difference < 0) {
    const short = { catalog_item_id: id, requested: fromThousandths(-difference), available: before }
    return refuse('insufficient_stock', { ...short, items: [short] })
  }
  return { id, reason: 'adjustment' as const, before, after: fromThousandths(after) }
}

type RecordedKind = (typeof RECORDED_KINDS)[number]

/** A count may find nothing; a loss may carry the sign with which answers show it. */
const QUANTITIES: Readonly<Record<RecordedKind, z.ZodType<string>>> = {
  purchase: Quantity,
  count: StockQuantity,
  loss: SignedQuantity,
  adjustment: SignedQuantity,
}

const IDENTIFIER = 'informe exatamente um entre catalog_item_id e catalog_item_external_id'

/** Body of POST /stock/movements, and each item of a batch. */
export const StockMovementInput = z
  .strictObject({
    catalog_item_id: Id.nullish(),
    catalog_item_external_id: ExternalId.nullish(),
    kind: z.enum(RECORDED_KINDS),
    quantity: AnyQuantity,
    unit_cost: Money.nullish(),
    reason: optionalText(500),
    document: optionalText(100),
  })
  .superRefine((input, context) => {
    const problem = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message })
    const { kind, quantity, unit_cost, catalog_item_id, catalog_item_external_id } = input
    if (((catalog_item_id ?? null) === null) === ((catalog_item_external_id ?? null) === null))
      problem('catalog_item_id', IDENTIFIER)
    const judged = QUANTITIES[kind].safeParse(quantity)
    for (const { message } of judged.error?.issues ?? []) problem('quantity', message)
    if (kind !== 'purchase' && typeof unit_cost === 'string') problem('unit_cost', 'só vale para uma compra')
  })
export type StockMovementInput = z.infer<typeof StockMovementInput>

/** Records a purchase, count, loss or adjustment. The unit cost of a purchase becomes the item's cost. */
export const recordStockMovement = command<StockMovementInput>({
  permission: 'adjust_stock',
  needs: (input) => [itemRef(input)],
  decide(rows, input, { revision }) {
    const item = rows.get(itemRef(input))
    const field = typeof input.catalog_item_id === 'number' ? 'catalog_item_id' : 'catalog_item_external_id'
    if (!item || item.deleted_at) return invalid(field, 'item não encontrado no catálogo')
    if (item.type === 'service') return invalid(field, NO_STOCK_OF_SERVICES)
    const before = stockOf(rows, item.id)
    const after = stockAfter(rows, item, input)
    if (isRefusal(after)) return after
    const { kind, unit_cost = null, reason = null, document = null } = input
    const id = movementIdOf(revision)
    const details = { catalog_item_id: item.id, kind, before, after: fromThousandths(after.thousandths) }
    const recorded = event('StockMovementRecorded', { id, ...details, unit_cost, reason, reference: document })
    const isOtherCost = unit_cost !== null && unit_cost !== item.doc.cost
    const repriced = event('CatalogItemUpdated', { id: item.id, changes: { cost: unit_cost } })
    const warnings = [
      ...brokenPieceWarnings(item.doc.unit, { quantity: input.quantity }),
      ...(unit_cost === null ? [] : costWarnings(item.doc.price, unit_cost)),
    ]
    const events = isOtherCost ? [recorded, repriced] : [recorded]
    return accept('created', recorded.subject, events, [], warnings.length > 0 ? { warnings } : undefined)
  },
})

const itemRef = ({ catalog_item_id, catalog_item_external_id }: StockMovementInput): Ref<ItemRow> =>
  typeof catalog_item_id === 'number' ? itemById(catalog_item_id) : itemByExternalId(catalog_item_external_id ?? '')

function stockAfter(
  rows: Rows,
  { id }: Readonly<ItemRow>,
  { kind, quantity }: StockMovementInput,
): { thousandths: number } | Refusal {
  const before = stockOf(rows, id)
  const given = toThousandths(quantity)
  if (kind === 'count') return { thousandths: given }
  if (before === null) return invalid('kind', 'o item não tem controle de estoque: comece por uma contagem')
  const change = kind === 'loss' ? -Math.abs(given) : given
  const thousandths = toThousandths(before) + change
  // Bounded, so that a returned quantity is always valid input.
  if (thousandths > MAX_THOUSANDTHS) return invalid('quantity', 'o estoque resultante é grande demais')
  // As for `stock_adjustment`: incoming goods are never refused.
  if (thousandths < 0 && change < 0) {
    const short = { catalog_item_id: id, requested: fromThousandths(-change), available: before }
    return refuse('insufficient_stock', { ...short, items: [short] })
  }
  return { thousandths }
}

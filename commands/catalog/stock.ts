import { fromThousandths, MAX_THOUSANDTHS, toThousandths } from '#domain/quantity.ts'
import { invalid, type Refusal, refuse } from '#domain/refusal.ts'
import { event } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import type { NewEvent } from '#ledger/envelope.ts'
import type { ItemObject } from '#projections/catalog.ts'
import { type ItemChanges, NO_STOCK_OF_SERVICES } from './item-input.ts'

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

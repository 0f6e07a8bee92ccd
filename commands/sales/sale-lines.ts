import { fromCents, netOfSurcharge, toCents } from '#domain/money.ts'
import { toThousandths } from '#domain/quantity.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { ItemRow } from '#projections/catalog.ts'
import type { PaymentTypeObject } from '#projections/payment-types.ts'
import { stockMoves } from '#projections/sales.ts'

type SaleItem = DataOf<'SaleCompleted'>['items'][number]
type SalePayment = DataOf<'SaleCompleted'>['payments'][number]

/** What a sale keeps of a catalog item: as it is called at the moment, and whether its stock is tracked. */
export function soldItem({ id, external_id, doc }: Readonly<ItemRow>) {
  return { catalog_item_id: id, external_id, description: doc.name, moves_stock: typeof doc.stock === 'string' }
}

/** A payment with its surcharge taken from inside the amount. */
export function takenPayment(type: PaymentTypeObject, amount: string): SalePayment {
  const cents = toCents(amount)
  const net = netOfSurcharge(cents, type.fee_percentage)
  const { id: payment_type_id, name } = type
  return { payment_type_id, name, amount, surcharge: fromCents(cents - net), net: fromCents(net) }
}

/** What lines take from stock, in thousandths by item: an item may stand on several lines. */
export function quantitiesTaken(items: readonly SaleItem[]): Map<number, number> {
  const taken = new Map<number, number>()
  for (const { catalog_item_id, quantity } of stockMoves(items)) {
    taken.set(catalog_item_id, (taken.get(catalog_item_id) ?? 0) + toThousandths(quantity))
  }
  return taken
}

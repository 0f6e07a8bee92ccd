import { fromThousandths, toThousandths } from '#domain/quantity.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { Rows } from '#ledger/working-set.ts'
import { itemById } from '#projections/catalog.ts'
import { existing } from '#projections/define.ts'
import { paymentTypeById } from '#projections/payment-types.ts'
import type { OfflineSaleWarning } from '#projections/sales.ts'
import { quantitiesTaken } from './lines.ts'
import type { OfflineSale } from './offline-sale-input.ts'

type Parts = Pick<DataOf<'OfflineSaleCompleted'>, 'items' | 'payments'>

/** How far a till's clock may be ahead without a warning: clocks differ. */
const CLOCK_TOLERANCE_MS = 5 * 60_000

/** The stock, in thousandths, that lines leave of each item whose stock they move. */
export function stockAfter(rows: Rows, items: Parts['items']): { id: number; thousandths: number }[] {
  return [...quantitiesTaken(items)].map(([id, taken]) => {
    const before = rows.get(itemById(id))?.doc.stock ?? '0'
    return { id, thousandths: toThousandths(before) - taken }
  })
}

/** What somebody should look at, though the sale is recorded as it was made. */
export function findWarnings(rows: Rows, sale: OfflineSale, parts: Parts, now: string): OfflineSaleWarning[] {
  return [
    ...productWarnings(rows, sale),
    ...stockAfter(rows, parts.items).flatMap(({ id, thousandths }) =>
      thousandths < 0 ? [warning('negative_stock', { product_id: id, found: fromThousandths(thousandths) })] : [],
    ),
    ...paymentWarnings(rows, sale),
    ...clockWarnings(sale, now),
  ]
}

const warning = (
  code: OfflineSaleWarning['code'],
  { product_id = null, found = null, expected = null }: Partial<OfflineSaleWarning> = {},
): OfflineSaleWarning => ({ code, product_id, found, expected })

/** One of each kind for a product, on however many lines; of prices that differ, one each. */
function productWarnings(rows: Rows, { items }: OfflineSale): OfflineSaleWarning[] {
  const warnings = new Map<string, OfflineSaleWarning>()
  for (const { product_id, price } of items) {
    const { deleted_at, doc } = existing(rows, itemById(product_id))
    if (deleted_at) warnings.set(`${product_id}`, warning('product_deactivated', { product_id }))
    if (price === doc.price) continue
    const differs = warning('price_differs', { product_id, found: price, expected: doc.price })
    warnings.set(`${product_id} ${price}`, differs)
  }
  return [...warnings.values()]
}

function paymentWarnings(rows: Rows, { payments, change }: OfflineSale): OfflineSaleWarning[] {
  const types = payments.map(({ payment_type_id, status }) => ({
    type: existing(rows, paymentTypeById(payment_type_id)).doc,
    isPending: status === 'pending',
  }))
  const open = types.filter(({ type, isPending }) => isPending && type.kind !== 'credit_account')
  const names = new Set(open.map(({ type }) => type.name))
  const pending = [...names].map((found) => warning('payment_pending', { found }))
  const isGiven = change !== '0.00' && !types.some(({ type }) => type.is_cash)
  return isGiven ? [...pending, warning('change_without_cash', { found: change })] : pending
}

function clockWarnings({ created_at }: OfflineSale, now: string): OfflineSaleWarning[] {
  const isAhead = Date.parse(created_at) - Date.parse(now) > CLOCK_TOLERANCE_MS
  return isAhead ? [warning('created_at_in_future', { found: created_at, expected: now })] : []
}

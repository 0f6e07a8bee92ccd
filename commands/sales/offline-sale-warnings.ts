import { fromThousandths, isBrokenPiece, toThousandths } from '#domain/quantity.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { Rows } from '#ledger/working-set.ts'
import { itemById } from '#projections/catalog.ts'
import type { OfflineSaleWarning } from '#projections/offline-sales.ts'
import { paymentTypeById } from '#projections/payment-types.ts'
import { customerById } from '#projections/people.ts'
import { stockOf } from '#projections/stock.ts'
import { userById } from '#projections/users.ts'
import { isOfOther } from '../cash/named-session.ts'
import { findOlder, isFarAhead } from '../till-clock.ts'
import { quantitiesTaken } from './lines.ts'
import type { OfflineSale, OfflineSaleUpload } from './offline-sale-input.ts'

type Parts = Pick<DataOf<'OfflineSaleCompleted'>, 'items' | 'payments' | 'change'>

/** Remaining stock of each item with moved stock, in thousandths. */
export function stockAfter(rows: Rows, items: Parts['items']): { id: number; thousandths: number }[] {
  return [...quantitiesTaken(items)].map(([id, taken]) => {
    const before = stockOf(rows, id) ?? '0'
    return { id, thousandths: toThousandths(before) - taken }
  })
}

/** Problems of a recorded sale to review, except those of its sums. */
export function findWarnings(rows: Rows, sale: OfflineSaleUpload, parts: Parts, now: string): OfflineSaleWarning[] {
  return [
    ...customerWarnings(rows, sale),
    ...productWarnings(rows, sale),
    ...stockAfter(rows, parts.items).flatMap(({ id, thousandths }) =>
      thousandths < 0 ? [warning('negative_stock', { product_id: id, found: fromThousandths(thousandths) })] : [],
    ),
    ...paymentWarnings(rows, sale, parts.change),
    ...(isOfOther(rows, sale.cash_session_id, sale.sellerId)
      ? [warning('session_of_other', { found: sale.cash_session_id })]
      : []),
    ...clockWarnings(rows, sale, now),
  ]
}

export const warning = (
  code: OfflineSaleWarning['code'],
  { product_id = null, found = null, expected = null }: Partial<OfflineSaleWarning> = {},
): OfflineSaleWarning => ({ code, product_id, found, expected })

/** One warning of each kind per product, one per differing price, and one per fraction of a piece. */
function productWarnings(rows: Rows, { items }: OfflineSale): OfflineSaleWarning[] {
  const warnings = new Map<string, OfflineSaleWarning>()
  for (const { product_id, price, quantity } of items) {
    const product = rows.get(itemById(product_id))
    if (!product) {
      warnings.set(`${product_id}`, warning('product_unknown', { product_id }))
      continue
    }
    const { deleted_at, doc } = product
    if (deleted_at) warnings.set(`${product_id}`, warning('product_deactivated', { product_id }))
    if (isBrokenPiece(doc.unit, quantity)) {
      const broken = warning('quantity_not_whole', { product_id, found: quantity })
      warnings.set(`${product_id} of ${quantity}`, broken)
    }
    if (price === doc.price) continue
    const differs = warning('price_differs', { product_id, found: price, expected: doc.price })
    warnings.set(`${product_id} ${price}`, differs)
  }
  return [...warnings.values()]
}

function paymentWarnings(rows: Rows, { payments }: OfflineSale, change: string): OfflineSaleWarning[] {
  const unknown = payments.filter(({ payment_type_id }) => !rows.get(paymentTypeById(payment_type_id)))
  const types = payments.flatMap(({ payment_type_id, status }) => {
    const type = rows.get(paymentTypeById(payment_type_id))?.doc
    return type ? [{ type, isPending: status === 'pending' }] : []
  })
  const open = types.filter(({ type, isPending }) => isPending && type.kind !== 'credit_account')
  const names = new Set(open.map(({ type }) => type.name))
  const pending = [
    ...unknown.map(({ payment_type_id }) => warning('payment_type_unknown', { found: String(payment_type_id) })),
    ...[...names].map((found) => warning('payment_pending', { found })),
  ]
  const isGiven = change !== '0.00' && !types.some(({ type }) => type.is_cash)
  return isGiven ? [...pending, warning('change_without_cash', { found: change })] : pending
}

function customerWarnings(rows: Rows, { customer }: OfflineSale): OfflineSaleWarning[] {
  if (!customer) return []
  const known = customer.id === null ? null : rows.get(customerById(customer.id))
  if (!known) return [warning('customer_unknown', { found: customer.sent })]
  if (known.doc.forgotten_at !== null) return [warning('customer_forgotten', { found: customer.sent })]
  return known.deleted_at ? [warning('customer_deleted', { found: customer.sent })] : []
}

function clockWarnings(rows: Rows, sale: OfflineSaleUpload, now: string): OfflineSaleWarning[] {
  const { created_at, cancelled_at, items, sellerId } = sale
  const user = sellerId === undefined ? null : rows.get(userById(sellerId))
  const products = items.map(({ product_id }) => rows.get(itemById(product_id))?.doc.created_at)
  const older = sale.isHistory ? null : findOlder(created_at, now, [user?.doc.created_at, ...products])
  return [
    ...(isFarAhead(created_at, now) ? [warning('created_at_in_future', { found: created_at, expected: now })] : []),
    ...(older === null ? [] : [warning('created_at_old', { found: created_at, expected: older })]),
    ...cancellationWarnings(cancelled_at, created_at, now),
  ]
}

/** Problems of the time at which a till cancelled a sale. */
export function cancellationWarnings(at: string | null, soldAt: string, now: string): OfflineSaleWarning[] {
  if (at === null) return []
  if (isFarAhead(at, now)) return [warning('cancelled_at_in_future', { found: at, expected: now })]
  const isEarlier = Date.parse(at) < Date.parse(soldAt)
  return isEarlier ? [warning('cancelled_at_before_sale', { found: at, expected: soldAt })] : []
}

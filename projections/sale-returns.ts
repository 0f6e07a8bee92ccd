import { fromCents, toCents } from '#domain/money.ts'
import { hasBeenPaid } from '#domain/orders.ts'
import { table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyRef } from './companies.ts'
import type { PaymentObject } from './order-payments.ts'

/** Money given back for a sold order; it belongs to the day on which it moved. */
export interface SaleReturnRow {
  company_id: number
  order_id: number
  revision: number
  returned_at: string
  /** Negative where the shop won a dispute, and got the money again. */
  cents: number
}

export const saleReturns = table<SaleReturnRow>('sale_returns', {
  columns: {
    company_id: 'bigint',
    order_id: 'bigint',
    revision: 'bigint',
    returned_at: 'timestamptz',
    cents: 'bigint',
  },
  keys: { pk: ['company_id', 'order_id', 'revision'] },
  indexes: ['(company_id, returned_at)'],
  past: { id: 'order_id', isFixed: true },
})

interface PaidOrder {
  readonly id: number
  readonly total: string
  readonly payments: readonly PaymentObject[]
}

/**
 * Part of an order's total that the shop no longer has, in cents. A second payment that was given back returns nothing of
 * the order.
 */
export function returnedCents({ total, payments }: Omit<PaidOrder, 'id'>): number {
  if (!hasBeenPaid(payments)) return 0
  const isCharged = ({ status }: PaymentObject) => status === 'paid' || status === 'refunded'
  const left = payments.filter(isCharged).map(({ amount, refunded }) => toCents(amount) - toCents(refunded))
  return Math.max(
    left.reduce((sum, cents) => sum - cents, toCents(total)),
    0,
  )
}

/** What a paid order leaves the shop after refunds, before the commission. */
export const netOfOrder = (order: Omit<PaidOrder, 'id'>): string =>
  fromCents(toCents(order.total) - returnedCents(order))

/** Records what an event gave back. */
export function recordReturn(
  rows: Changes,
  before: PaidOrder,
  after: PaidOrder,
  { revision, recorded_at }: { readonly revision: number; readonly recorded_at: string },
): void {
  const cents = returnedCents(after) - returnedCents(before)
  if (cents === 0) return
  const { company_id } = companyRef(rows)
  rows.add(saleReturns, { company_id, order_id: after.id, revision, returned_at: recorded_at, cents })
}

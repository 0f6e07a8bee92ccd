import { type OfflineReturn, OfflineReturnInput } from '#commands/sales/offline-return-input.ts'
import type { OfflineSale } from '#commands/sales/offline-sale-input.ts'
import { addMilliseconds } from '#domain/instant.ts'

/** Place in its shift of a sale that comes back in part, on one day of so many. */
const [PLACE, ONE_DAY_OF] = [3, 4]
/** Soon enough for the session of the sale. */
const AFTER_MS = 5 * 60_000

const REASONS = ['Embalagem aberta', 'Produto vencido', 'Levou por engano'] as const

/** Returns of a month's sales until `now` (UTC): the first line of some, given back as it was paid. */
export function returnsOfMonth(sales: readonly OfflineSale[], onAccount: number, now: string): OfflineReturn[] {
  return sales.flatMap(({ offline_id, status, created_at, cash_session_id, items: [item], payments: [payment] }) => {
    const returned_at = addMilliseconds(created_at, AFTER_MS)
    const [day, place] = offline_id.split('-').slice(-2).map(Number) as [number, number]
    if (place !== PLACE || day % ONE_DAY_OF !== 0 || status === 'cancelled' || !item || !payment || returned_at > now)
      return []
    if (payment.payment_type_id === onAccount) return []
    return OfflineReturnInput.parse({
      ...{ offline_id: `${offline_id}-volta`, sale_offline_id: offline_id, returned_at, cash_session_id },
      reason: REASONS[(day / ONE_DAY_OF) % REASONS.length],
      items: [{ line: 0, quantity: Number(item.quantity) }],
      refunds: [{ payment_type_id: payment.payment_type_id, amount: Number(item.total) }],
    })
  })
}

import { CashMovementInput, type CashMovementUpload } from '#commands/cash/movement-input.ts'
import type { OfflineReturn } from '#commands/sales/offline-return-input.ts'
import type { OfflineSale } from '#commands/sales/offline-sale-input.ts'
import { addMilliseconds } from '#domain/instant.ts'
import { toCents } from '#domain/money.ts'
import { groupBy } from '#lib/group-by.ts'

const MINUTE_MS = 60_000
const FLOAT = 150
/** Brought away at the end of a shift with more cash than this. */
const MOST_CENTS = 30_000
const TAKEN = 200

/** Miscounts of some sessions, in reais, by their day. */
const MISCOUNTS: Readonly<Record<string, number>> = { '04': -2, '11': 0.5, '19': -5, '28': -12.5 }

/**
 * Movements of the sessions of a month's sales and returns, in the order of the till's clock. A session that ends after `now` (UTC)
 * is still open.
 */
export function cashOfMonth(
  sales: readonly OfflineSale[],
  returns: readonly OfflineReturn[],
  cash: number,
  now: string,
): CashMovementUpload[] {
  const sessions = [...groupBy(sales, ({ cash_session_id }) => cash_session_id ?? '')]
  return sessions.flatMap(([session_id, ofSession]) => {
    const times = ofSession.map(({ created_at }) => created_at).sort()
    const [first, last] = [times[0] as string, times.at(-1) as string]
    const sums = sumsOf(
      ofSession,
      returns.filter((each) => each.cash_session_id === session_id),
    )
    const cents = sums.get(cash) ?? 0
    const taken = cents > MOST_CENTS ? TAKEN : 0
    const inDrawer = FLOAT + cents / 100 - taken + (MISCOUNTS[session_id.slice(-2)] ?? 0)
    const others = [...sums].filter(([type]) => type !== cash).map(([type, sum]) => [type, sum / 100] as const)
    const counted = { cash: Math.round(inDrawer * 100) / 100, ...Object.fromEntries(others) }
    const movement = (kind: string, at: string, fields: object) => ({
      ...{ offline_id: `${session_id}-${kind}`, session_id, kind, at, amount: null },
      ...fields,
    })
    const at = (instant: string, minutes: number) => addMilliseconds(instant, minutes * MINUTE_MS)
    const movements = [
      movement('opened', at(first, -10), { amount: FLOAT }),
      ...(taken > 0 ? [movement('out', at(last, 5), { amount: taken, reason: 'Sangria' })] : []),
      movement('closed', at(last, 15), { counted }),
    ]
    return movements.filter((each) => each.at <= now).map((each) => CashMovementInput.parse(each))
  })
}

/** Cents by payment type less returns, without change and cancelled sales. */
function sumsOf(sales: readonly OfflineSale[], returns: readonly OfflineReturn[]): Map<number, number> {
  const sums = new Map<number, number>()
  for (const { status, total, payments } of sales) {
    const type = payments[0]?.payment_type_id
    if (status === 'completed' && type !== undefined) sums.set(type, (sums.get(type) ?? 0) + toCents(total))
  }
  for (const { payment_type_id: type, amount } of returns.flatMap(({ refunds }) => refunds))
    sums.set(type, (sums.get(type) ?? 0) - toCents(amount))
  return sums
}

import { event } from '#events/catalogue.ts'
import type { NewEvent } from '#ledger/command.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { cashDrawerOf, sessionAt, sessionsOf, type TimedCancellation } from '#projections/cash-drawers.ts'
import { cashSessionByName } from '#projections/cash-sessions.ts'
import { saleById } from '#projections/sales.ts'

/** An opening or closing that is being decided; times by the till's clock (UTC), null if not known. */
export interface ChangedSession {
  readonly userId: number
  readonly session_id: string
  readonly opened_at: string | null
  readonly closed_at: string | null
}

const cancellationsOf = (rows: Rows, userId: number): readonly TimedCancellation[] =>
  rows.get(cashDrawerOf(userId))?.cancellations ?? []

/** Rows that `movedCancellations` reads, once the user's drawer is loaded. */
export const cancellationRefs = (rows: Rows, userId: number): AnyRef[] =>
  cancellationsOf(rows, userId).flatMap(({ sale_id, session_id, user_id }) => [
    saleById(sale_id),
    cashSessionByName(session_id),
    cashDrawerOf(user_id),
  ])

/**
 * Session that gave the money of a cancelled sale back: the sale's if it was not closed by then, else the one that the
 * canceller had open (CASH-760). All times are of the tills' clocks.
 */
export function drawerAt(
  own: string,
  closedAt: string | null,
  sessions: Parameters<typeof sessionAt>[0],
  at: string,
): string | null {
  const isOpen = closedAt === null || Date.parse(at) < Date.parse(closedAt)
  return isOpen ? own : sessionAt(sessions, at)
}

/** Cancelled sales whose money another session gave back than was known before an opening or closing. */
export function movedCancellations(rows: Rows, { userId, ...changed }: ChangedSession) {
  const { session_id, opened_at, closed_at } = changed
  return cancellationsOf(rows, userId).flatMap(({ sale_id, session_id: own, user_id, at }) => {
    const sale = rows.get(saleById(sale_id))
    if (sale?.status !== 'cancelled') return []
    const isChanged = user_id === userId && opened_at !== null
    const sessions = sessionsOf(rows, user_id, isChanged ? { session_id, opened_at, closed_at } : undefined)
    const closedAt = own === session_id ? closed_at : (rows.get(cashSessionByName(own))?.closed_at ?? null)
    const drawer = drawerAt(own, closedAt, sessions, at)
    return drawer === sale.cancel_session_id ? [] : { sale_id, drawer }
  })
}

export const cancellationMoved = ({ sale_id: id, drawer }: { sale_id: number; drawer: string | null }): NewEvent =>
  event('SaleCancellationMoved', { id, cash_session_id: drawer })

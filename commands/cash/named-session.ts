import { invalid, type Refusal } from '#domain/refusal.ts'
import { ExternalId } from '#domain/text.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { cashSessionByName } from '#projections/cash-sessions.ts'

/** Open session of a till that gives money back, as a person names it; null or absent: no drawer does. */
export const NamedSession = ExternalId.nullish()

type SessionName = string | null | undefined

export const namedSessionRefs = (name: SessionName): AnyRef[] => (name ? [cashSessionByName(name)] : [])

/** Whether another user has opened the session that a till names; an unknown one may be opened later. It is loaded. */
export function isOfOther(rows: Rows, name: SessionName, userId: number | undefined): boolean {
  const openedBy = name ? (rows.get(cashSessionByName(name))?.doc.opened_by ?? null) : null
  return openedBy !== null && userId !== undefined && openedBy !== userId
}

/** Refusal of a session that is unknown or closed: its drawer has been counted. */
export function findClosedSession(rows: Rows, name: SessionName): Refusal | null {
  const session = name ? rows.get(cashSessionByName(name)) : null
  return name && session?.closed_at !== null ? invalid('cash_session_id', 'não é uma sessão de caixa aberta') : null
}

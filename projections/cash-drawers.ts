import { byPk, table } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { cashSessionByName, userOf } from './cash-sessions.ts'
import { companyRef } from './companies.ts'
import { projection } from './define.ts'

/** The session that a user of a till opened last: money leaves its drawer if an upload names no other session. */
interface CashDrawerRow {
  company_id: number
  user_id: number
  session_id: string
  opened_at: string
}

const cashDrawers = table<CashDrawerRow>('cash_drawers', {
  columns: { company_id: 'bigint', user_id: 'bigint', session_id: 'text', opened_at: 'timestamptz' },
  keys: { pk: ['company_id', 'user_id'] },
})

export const cashDrawerOf = (userId: number) => byPk(cashDrawers, userId)

/** Session that a user has open; null if none. Its drawer and session are loaded. */
export function openSessionOf(rows: Rows, userId: number): string | null {
  const drawer = rows.get(cashDrawerOf(userId))
  const session = drawer && rows.get(cashSessionByName(drawer.session_id))
  return session && session.closed_at === null ? session.session_id : null
}

export const cashDrawersProjection = projection('cash_drawers', [cashDrawers], {
  CashSessionOpened: {
    refs: ({ actor }) => {
      const user = userOf(actor)
      return user === null ? [] : [cashDrawerOf(user)]
    },
    apply(rows, { actor, data }) {
      const user_id = userOf(actor)
      if (user_id === null || !rows.wants(cashDrawerOf(user_id))) return
      const before = rows.get(cashDrawerOf(user_id))
      if (before && Date.parse(before.opened_at) > Date.parse(data.at)) return
      const { company_id } = companyRef(rows)
      rows.put(cashDrawers, { company_id, user_id, session_id: data.session_id, opened_at: data.at })
    },
  },
})

import type { EventOf } from '#events/catalogue.ts'
import { byPk, table } from '#ledger/table.ts'
import type { Changes, Rows } from '#ledger/working-set.ts'
import { cashSessionById, userOf } from './cash-sessions.ts'
import { companyRef } from './companies.ts'
import { projection } from './define.ts'

/** Times by the till's clock, in UTC. */
interface DrawerSession {
  readonly session_id: string
  readonly opened_at: string
  readonly closed_at: string | null
}

/** The sessions that a user of a till has opened: money leaves one of them if an upload names no other session. */
interface CashDrawerRow {
  company_id: number
  user_id: number
  /** The latest ones, by their opening; those that are open first. */
  sessions: readonly DrawerSession[]
}

/** Sessions of a user that are known; older closed ones are forgotten. */
const MAX_SESSIONS = 50

const cashDrawers = table<CashDrawerRow>('cash_drawers', {
  columns: { company_id: 'bigint', user_id: 'bigint', sessions: 'json' },
  keys: { pk: ['company_id', 'user_id'] },
})

export const cashDrawerOf = (userId: number) => byPk(cashDrawers, userId)

/** Session that a user had open at a time of the till's clock, or has open now if none is known. Its drawer is loaded. */
export function openSessionOf(rows: Rows, userId: number, at: string | null): string | null {
  const sessions = rows.get(cashDrawerOf(userId))?.sessions ?? []
  const atThatTime = sessions.filter(
    ({ opened_at, closed_at }) => at !== null && opened_at <= at && (closed_at === null || closed_at > at),
  )
  const open = atThatTime.length > 0 ? atThatTime : sessions.filter(({ closed_at }) => closed_at === null)
  return open.toSorted(byOpening)[0]?.session_id ?? null
}

const byOpening = (a: DrawerSession, b: DrawerSession): number => (a.opened_at < b.opened_at ? 1 : -1)

const isClosed = ({ closed_at }: DrawerSession): number => (closed_at === null ? 0 : 1)

function putSession(rows: Changes, userId: number, session: DrawerSession): void {
  const before = rows.get(cashDrawerOf(userId))?.sessions ?? []
  const others = before.filter(({ session_id }) => session_id !== session.session_id)
  const sessions = [session, ...others].sort((a, b) => isClosed(a) - isClosed(b) || byOpening(a, b))
  const { company_id } = companyRef(rows)
  rows.put(cashDrawers, { company_id, user_id: userId, sessions: sessions.slice(0, MAX_SESSIONS) })
}

const refs = ({ actor, data }: Pick<EventOf<'CashSessionOpened'>, 'actor'> & { data: { readonly id: number } }) => {
  const user = userOf(actor)
  return user === null ? [] : [cashDrawerOf(user), cashSessionById(data.id)]
}

export const cashDrawersProjection = projection('cash_drawers', [cashDrawers], {
  CashSessionOpened: {
    refs,
    apply(rows, { actor, data }) {
      const user = userOf(actor)
      if (user === null || !rows.wants(cashDrawerOf(user))) return
      const closed = rows.get(cashSessionById(data.id))?.closed_at ?? null
      const closed_at = closed && new Date(closed).toISOString()
      putSession(rows, user, { session_id: data.session_id, opened_at: data.at, closed_at })
    },
  },
  CashSessionClosed: {
    refs,
    apply(rows, { actor, data }) {
      const user = userOf(actor)
      if (user === null || !rows.wants(cashDrawerOf(user))) return
      const known = rows.get(cashDrawerOf(user))?.sessions.find(({ session_id }) => session_id === data.session_id)
      if (known) putSession(rows, user, { ...known, closed_at: data.at })
    },
  },
})

import type { DataOf, EventOf } from '#events/catalogue.ts'
import { byPk, table } from '#ledger/table.ts'
import type { Changes, Rows } from '#ledger/working-set.ts'
import { cashSessionById, tillActorOf, userOf } from './cash-sessions.ts'
import { companyRef } from './companies.ts'
import { existing, projection } from './define-projection.ts'

/** Times by the till's clock, in UTC. */
interface DrawerSession {
  readonly session_id: string
  readonly opened_at: string
  readonly closed_at: string | null
}

/** A sale of a session that a user's till cancelled at a time of its clock. */
export interface TimedCancellation {
  readonly sale_id: number
  /** Of the sale. */
  readonly session_id: string
  readonly user_id: number
  /** UTC */
  readonly at: string
}

/** The sessions that a user of a till has opened: money leaves one of them if an upload names no other session. */
interface CashDrawerRow {
  company_id: number
  user_id: number
  /** The latest ones, by their opening; those that are open first. */
  sessions: readonly DrawerSession[]
  /** The latest cancellations by the user, and in the user's sessions, whose drawer follows from their time. */
  cancellations: readonly TimedCancellation[]
  /** Number of the user's refused movements that no person has decided about. */
  refused: number
}

/** Sessions of a user that are known, and cancellations; older closed ones are forgotten. */
const [MAX_SESSIONS, MAX_CANCELLATIONS] = [50, 50]

const cashDrawers = table<CashDrawerRow>('cash_drawers', {
  about: 'Latest cash sessions and cancellations of each user.',
  columns: { company_id: 'bigint', user_id: 'bigint', sessions: 'json', cancellations: 'json', refused: 'bigint' },
  keys: { pk: ['company_id', 'user_id'] },
})

export const cashDrawerOf = (userId: number) => byPk(cashDrawers, userId)

/** Movement that a till uploaded of another user's drawer, by the till's identifier. */
export interface RefusedMovementRow {
  company_id: number
  offline_id: string
  /** Of the refusal; names it in addresses. */
  revision: number
  state: 'refused' | 'recorded' | 'resolved'
  /** Who uploaded it. */
  user_id: number
  uploaded_at: string
  sent: DataOf<'CashMovementRefused'>
  /** How a person resolved it without recording it. */
  note: string | null
}

const refusedMovements = table<RefusedMovementRow>('refused_movements', {
  about: 'Movements of drawers that were refused, until a person resolves them.',
  columns: {
    ...{ company_id: 'bigint', offline_id: 'text', revision: 'bigint', state: 'text', user_id: 'bigint' },
    ...{ uploaded_at: 'timestamptz', sent: 'json', note: 'text' },
  },
  keys: { pk: ['company_id', 'offline_id'], revision: ['company_id', 'revision'] },
  indexes: [`(company_id, revision) where state = 'refused'`],
})

export const refusedMovementById = (offlineId: string) => byPk(refusedMovements, offlineId)

/** Sessions of a user, with a change of one that is being decided. The drawer is loaded. */
export const sessionsOf = (rows: Rows, userId: number, changed?: DrawerSession): readonly DrawerSession[] =>
  [...(rows.get(cashDrawerOf(userId))?.sessions ?? [])]
    .filter(({ session_id }) => session_id !== changed?.session_id)
    .concat(changed ?? [])
    .sort(byOpening)

/** The session that is open now, the one opened last if there are several; null if there is none. */
export const openSessionIn = (sessions: readonly DrawerSession[]): string | null =>
  sessions.find(({ closed_at }) => closed_at === null)?.session_id ?? null

/** The session that was open at a time of the till's clock, else the next one; null if there is neither. */
export function sessionAt(sessions: readonly DrawerSession[], at: string): string | null {
  const wasOpen = sessions.find(({ opened_at, closed_at }) => opened_at <= at && (closed_at === null || closed_at > at))
  return (wasOpen ?? sessions.findLast(({ opened_at }) => opened_at > at))?.session_id ?? null
}

/** Latest first. */
const byOpening = (a: DrawerSession, b: DrawerSession): number => (a.opened_at < b.opened_at ? 1 : -1)

const isClosed = ({ closed_at }: DrawerSession): number => (closed_at === null ? 0 : 1)

const EMPTY = { sessions: [], cancellations: [], refused: 0 }

function putSession(rows: Changes, userId: number, session: DrawerSession): void {
  const before = rows.get(cashDrawerOf(userId)) ?? EMPTY
  const others = before.sessions.filter(({ session_id }) => session_id !== session.session_id)
  const sessions = [session, ...others].sort((a, b) => isClosed(a) - isClosed(b) || byOpening(a, b))
  const { company_id } = companyRef(rows)
  rows.put(cashDrawers, { ...before, company_id, user_id: userId, sessions: sessions.slice(0, MAX_SESSIONS) })
}

type Movement = EventOf<'CashSessionOpened'> | EventOf<'CashMoved'> | EventOf<'CashSessionClosed'>

const ownerOf = (event: Movement): number | null => userOf(tillActorOf(event))

/** Refused upload, with the count of its user. */
const refusedRefs = (offlineId: string, userId: number) => [refusedMovementById(offlineId), cashDrawerOf(userId)]

const refs = (event: Movement) => {
  const [user, { settles, offline_id, id }] = [ownerOf(event), event.data]
  return [
    ...(user === null ? [] : [cashDrawerOf(user), cashSessionById(id)]),
    ...(settles ? refusedRefs(offline_id, settles.user_id) : []),
  ]
}

function countRefused(rows: Changes, user_id: number, change: 1 | -1): void {
  const { company_id } = companyRef(rows)
  const before = rows.get(cashDrawerOf(user_id)) ?? EMPTY
  rows.put(cashDrawers, { ...before, company_id, user_id, refused: before.refused + change })
}

/** What a person has decided about a refused upload. */
function settle(
  rows: Changes,
  { offline_id, user_id }: { readonly offline_id: string; readonly user_id: number },
  decided: Pick<RefusedMovementRow, 'state' | 'note'>,
): void {
  rows.put(refusedMovements, { ...existing(rows, refusedMovementById(offline_id)), ...decided })
  countRefused(rows, user_id, -1)
}

function settleRecorded(rows: Changes, { data: { offline_id, settles } }: Movement): void {
  if (settles) settle(rows, { offline_id, user_id: settles.user_id }, { state: 'recorded', note: null })
}

type Cancelled = EventOf<'SaleCancelled'> | EventOf<'OfflineSaleCancelled'>

/** Users whose drawers know a cancellation: who cancelled the sale, and whose session it was made in. */
const usersOf = ({ data: { timed_drawer: drawer } }: Cancelled): number[] => [
  ...new Set([drawer?.user_id, drawer?.owner_id].filter((id) => typeof id === 'number')),
]

/** Handler of a cancellation whose drawer may follow from an opening or closing that comes later. */
const cancelling = {
  refs: (event: Cancelled) => usersOf(event).map(cashDrawerOf),
  apply(rows: Changes, event: Cancelled) {
    const { id: sale_id, cancelled_at: at, timed_drawer: drawer } = event.data
    if (!drawer || at === undefined) return
    const { company_id } = companyRef(rows)
    const { session_id, user_id } = drawer
    for (const user of usersOf(event)) {
      const before = rows.get(cashDrawerOf(user)) ?? EMPTY
      const cancellations = [...before.cancellations, { sale_id, session_id, user_id, at }].slice(-MAX_CANCELLATIONS)
      rows.put(cashDrawers, { ...before, company_id, user_id: user, cancellations })
    }
  },
}

export const cashDrawersProjection = projection('cash_drawers', [cashDrawers, refusedMovements], {
  SaleCancelled: cancelling,
  OfflineSaleCancelled: cancelling,
  CashSessionOpened: {
    refs,
    apply(rows, event) {
      const [user, { data }] = [ownerOf(event), event]
      settleRecorded(rows, event)
      if (user === null) return
      const closed = rows.get(cashSessionById(data.id))?.closed_at ?? null
      const closed_at = closed && new Date(closed).toISOString()
      putSession(rows, user, { session_id: data.session_id, opened_at: data.at, closed_at })
    },
  },
  CashMoved: {
    refs: ({ data: { offline_id, settles } }) => (settles ? refusedRefs(offline_id, settles.user_id) : []),
    apply: settleRecorded,
  },
  CashSessionClosed: {
    refs,
    apply(rows, event) {
      const [user, { data }] = [ownerOf(event), event]
      settleRecorded(rows, event)
      if (user === null) return
      const known = rows.get(cashDrawerOf(user))?.sessions.find(({ session_id }) => session_id === data.session_id)
      if (known) putSession(rows, user, { ...known, closed_at: data.at })
    },
  },
  CashMovementRefused: {
    refs: ({ data: { offline_id, user_id } }) => refusedRefs(offline_id, user_id),
    apply(rows, { data: sent, revision, recorded_at: uploaded_at }) {
      const { company_id } = companyRef(rows)
      const { offline_id, user_id } = sent
      rows.put(refusedMovements, {
        ...{ company_id, offline_id, revision, user_id, uploaded_at, sent },
        ...{ state: 'refused', note: null },
      })
      countRefused(rows, user_id, 1)
    },
  },
  RefusedCashMovementResolved: {
    refs: ({ data: { offline_id, user_id } }) => refusedRefs(offline_id, user_id),
    apply: (rows, { data }) => settle(rows, data, { state: 'resolved', note: data.note }),
  },
})

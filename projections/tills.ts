import type { DataOf, EventOf } from '#events/catalogue.ts'
import type { ChainWarning } from '#events/till-events.ts'
import type { RecordView } from '#ledger/projection.ts'
import { byKey, byPk, table } from '#ledger/table.ts'
import type { Changes, Rows } from '#ledger/working-set.ts'
import { cashSessionById, findDrawerOwner } from './cash-sessions.ts'
import { companyRef } from './companies.ts'
import {
  type ChangedFields,
  changedColumns,
  existing,
  INDEX_BY_CHANGE,
  INDEX_BY_PAST,
  projection,
  stamp,
} from './define-projection.ts'

/** Item or customer by the identifier that a till gave it. */
interface OfflineRecordRow {
  company_id: number
  kind: 'item' | 'customer'
  offline_id: string
  record_id: number
  /** SHA-256 (hex) of an item as it was sent; null of a customer, of whom nothing may stay. */
  fingerprint: string | null
}

const offlineRecords = table<OfflineRecordRow>('offline_records', {
  about: 'Items and customers that tills have made, by offline_id.',
  columns: {
    company_id: 'bigint',
    kind: 'text',
    offline_id: 'text',
    record_id: 'bigint',
    fingerprint: 'text',
  },
  keys: { pk: ['company_id', 'kind', 'offline_id'] },
})

export const offlineRecord = (kind: OfflineRecordRow['kind'], offlineId: string) =>
  byPk(offlineRecords, kind, offlineId)

type Named = EventOf<'OfflineItemNamed'> | EventOf<'OfflineCustomerNamed'>

const named = (kind: OfflineRecordRow['kind'], fingerprintOf: (event: Named) => string | null) => ({
  apply(rows: Changes, event: Named) {
    const { id: record_id, offline_id } = event.data
    const { company_id } = companyRef(rows)
    rows.add(offlineRecords, { company_id, kind, offline_id, record_id, fingerprint: fingerprintOf(event) })
  },
})

export const offlineRecordsProjection = projection('offline_records', [offlineRecords], {
  OfflineItemNamed: named('item', ({ data }) => ('fingerprint' in data ? data.fingerprint : null)),
  OfflineCustomerNamed: named('customer', () => null),
})

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
  refused_count: number
}

/** Sessions of a user that are known, and cancellations; older closed ones are forgotten. */
const [MAX_SESSIONS, MAX_CANCELLATIONS] = [50, 50]

const cashDrawers = table<CashDrawerRow>('cash_drawers', {
  about: 'Latest cash sessions and cancellations of each user.',
  columns: {
    company_id: 'bigint',
    user_id: 'bigint',
    sessions: 'json',
    cancellations: 'json',
    refused_count: 'bigint',
  },
  keys: { pk: ['company_id', 'user_id'] },
})

export const cashDrawerByUser = (userId: number) => byPk(cashDrawers, userId)

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
  payload: DataOf<'CashMovementRefused'>
  /** How a person resolved it without recording it. */
  note: string | null
}

const refusedMovements = table<RefusedMovementRow>('refused_movements', {
  about: 'Movements of drawers that were refused, until a person resolves them.',
  columns: {
    ...{ company_id: 'bigint', offline_id: 'text', revision: 'bigint', state: 'text', user_id: 'bigint' },
    ...{ uploaded_at: 'timestamptz', payload: 'json', note: 'text' },
  },
  keys: { pk: ['company_id', 'offline_id'], revision: ['company_id', 'revision'] },
  indexes: [`(company_id, revision) where state = 'refused'`],
})

export const refusedMovementById = (offlineId: string) => byPk(refusedMovements, offlineId)

/** Sessions of a user, with a change of one that is being decided. The drawer is loaded. */
export const listDrawerSessions = (rows: Rows, userId: number, changed?: DrawerSession): readonly DrawerSession[] =>
  [...(rows.get(cashDrawerByUser(userId))?.sessions ?? [])]
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

const EMPTY = { sessions: [], cancellations: [], refused_count: 0 }

function putSession(rows: Changes, userId: number, session: DrawerSession): void {
  const before = rows.get(cashDrawerByUser(userId)) ?? EMPTY
  const others = before.sessions.filter(({ session_id }) => session_id !== session.session_id)
  const sessions = [session, ...others].sort((a, b) => isClosed(a) - isClosed(b) || byOpening(a, b))
  const { company_id } = companyRef(rows)
  rows.put(cashDrawers, { ...before, company_id, user_id: userId, sessions: sessions.slice(0, MAX_SESSIONS) })
}

type Movement = EventOf<'CashSessionOpened'> | EventOf<'CashMoved'> | EventOf<'CashSessionClosed'>

/** Refused upload, with the count of its user. */
const refusedRefs = (offlineId: string, userId: number) => [refusedMovementById(offlineId), cashDrawerByUser(userId)]

const refs = (event: Movement) => {
  const [user, { settles, offline_id, id }] = [findDrawerOwner(event), event.data]
  return [
    ...(user === null ? [] : [cashDrawerByUser(user), cashSessionById(id)]),
    ...(settles ? refusedRefs(offline_id, settles.user_id) : []),
  ]
}

function countRefused(rows: Changes, user_id: number, change: 1 | -1): void {
  const { company_id } = companyRef(rows)
  const before = rows.get(cashDrawerByUser(user_id)) ?? EMPTY
  rows.put(cashDrawers, { ...before, company_id, user_id, refused_count: before.refused_count + change })
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
  refs: (event: Cancelled) => usersOf(event).map(cashDrawerByUser),
  apply(rows: Changes, event: Cancelled) {
    const { id: sale_id, cancelled_at: at, timed_drawer: drawer } = event.data
    if (!drawer || at === undefined) return
    const { company_id } = companyRef(rows)
    const { session_id, user_id } = drawer
    for (const user of usersOf(event)) {
      const before = rows.get(cashDrawerByUser(user)) ?? EMPTY
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
      const [user, { data }] = [findDrawerOwner(event), event]
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
      const [user, { data }] = [findDrawerOwner(event), event]
      settleRecorded(rows, event)
      if (user === null) return
      const known = rows.get(cashDrawerByUser(user))?.sessions.find(({ session_id }) => session_id === data.session_id)
      if (known) putSession(rows, user, { ...known, closed_at: data.at })
    },
  },
  CashMovementRefused: {
    refs: ({ data: { offline_id, user_id } }) => refusedRefs(offline_id, user_id),
    apply(rows, { data: payload, revision, recorded_at: uploaded_at }) {
      const { company_id } = companyRef(rows)
      const { offline_id, user_id } = payload
      rows.put(refusedMovements, {
        ...{ company_id, offline_id, revision, user_id, uploaded_at, payload },
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

/** First and last of consecutive numbers. */
export type NumberRange = readonly [from: number, to: number]

interface TillState {
  readonly id: number
  readonly number: number
  readonly name: string
  /** Numbers that have come or were given up, in order. */
  readonly settled: readonly NumberRange[]
  /** What was told last. */
  readonly told: readonly NumberRange[]
  readonly created_at: string
}

export interface TillRow extends ChangedFields {
  company_id: number
  id: number
  x: string
  y: string
  ended_at: string | null
  /** Last number that has come, was given up or was told to be missing. */
  reported_number: number
  doc: TillState
}

const tills = table<TillRow>('tills', {
  about: 'Tills that sign what they record, with the numbers that have come.',
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    x: 'text',
    y: 'text',
    ended_at: 'timestamptz',
    reported_number: 'bigint',
    ...changedColumns,
    doc: 'json',
  },
  keys: { pk: ['company_id', 'id'], key: ['company_id', 'x', 'y'] },
  indexes: [INDEX_BY_CHANGE, INDEX_BY_PAST],
  past: { id: 'id' },
})

export const tillById = (id: number) => byPk(tills, id)
export const tillByKey = (x: string, y: string) => byKey(tills, 'key', x, y)

export interface TillElementRow {
  company_id: number
  till_id: number
  number: number
  hash: string
  content_hash: string | null
  previous: string | null
  warnings: readonly ChainWarning[]
}

const tillElements = table<TillElementRow>('till_elements', {
  about: 'What has come of the chain of each till.',
  columns: {
    company_id: 'bigint',
    till_id: 'bigint',
    number: 'bigint',
    hash: 'text',
    content_hash: 'text',
    previous: 'text',
    warnings: 'json',
  },
  keys: { pk: ['company_id', 'till_id', 'number'] },
})

export const tillElement = (tillId: number, number: number) => byPk(tillElements, tillId, number)

/** The ranges with another one, in order, without overlaps or neighbours. */
export function withRange(ranges: readonly NumberRange[], [from, to]: NumberRange): NumberRange[] {
  const before = ranges.filter(([, end]) => end < from - 1)
  const after = ranges.filter(([start]) => start > to + 1)
  const touched = ranges.slice(before.length, ranges.length - after.length)
  const merged: NumberRange = [Math.min(from, touched[0]?.[0] ?? from), Math.max(to, touched.at(-1)?.[1] ?? to)]
  return [...before, merged, ...after]
}

/** Numbers from 1 to `last` that are in no range. */
export function gapsIn(settled: readonly NumberRange[], last: number): NumberRange[] {
  const gaps: NumberRange[] = []
  let next = 1
  for (const [from, to] of settled) {
    if (from > last) break
    if (from > next) gaps.push([next, from - 1])
    next = to + 1
  }
  return next <= last ? [...gaps, [next, last]] : gaps
}

/** Last number of a till that has come or was given up; 0 if none. */
export const lastSettled = ({ settled }: Pick<TillState, 'settled'>): number => settled.at(-1)?.[1] ?? 0

/** `to`: a number up to which nothing is to be told any more. */
const changed = (
  row: Readonly<TillRow>,
  event: Parameters<typeof stamp>[0],
  change: Partial<TillState>,
  to = 0,
): TillRow => ({
  ...row,
  ...stamp(event),
  reported_number: Math.max(row.reported_number, to),
  doc: { ...row.doc, ...change },
})

export const tillsProjection = projection('tills', [tills], {
  TillRegistered: {
    apply(rows, event) {
      const { id, name, x, y } = event.data
      const doc = { id, number: id, name, settled: [], told: [], created_at: event.recorded_at }
      rows.put(tills, {
        company_id: companyRef(rows).company_id,
        id,
        x,
        y,
        ended_at: null,
        reported_number: 0,
        ...stamp(event),
        doc,
      })
    },
    refs: ({ data: { id } }) => [tillById(id)],
  },
  TillElementReceived: {
    refs: ({ data: { id } }) => [tillById(id)],
    apply(rows, event) {
      const { id, number } = event.data
      const till = existing(rows, tillById(id))
      rows.put(tills, changed(till, event, { settled: withRange(till.doc.settled, [number, number]) }, number))
    },
  },
  TillGapDetected: {
    refs: ({ data: { id } }) => [tillById(id)],
    apply(rows, event) {
      const till = existing(rows, tillById(event.data.id))
      const { missing: told } = event.data
      rows.put(tills, changed(till, event, { told }, told.at(-1)?.[1]))
    },
  },
  TillElementsGivenUp: {
    refs: ({ data: { id } }) => [tillById(id)],
    apply(rows, event) {
      const till = existing(rows, tillById(event.data.id))
      const { from, to } = event.data
      const settled = withRange(till.doc.settled, [from, to])
      rows.put(tills, changed(till, event, { settled }, to))
    },
  },
  TillEnded: {
    refs: ({ data: { id } }) => [tillById(id)],
    apply(rows, event) {
      const till = existing(rows, tillById(event.data.id))
      rows.put(tills, { ...changed(till, event, {}), ended_at: event.recorded_at })
    },
  },
})

/** Apart from the tills, whose past states are made without them. */
export const tillElementsProjection = projection('till_elements', [tillElements], {
  TillElementReceived: {
    refs: ({ data: { id, number } }) => [tillElement(id, number), tillElement(id, number + 1)],
    apply(rows, event) {
      const { id: till_id, number, hash, content_hash, previous, warnings, breaks_next } = event.data
      const { company_id } = companyRef(rows)
      rows.put(tillElements, { company_id, till_id, number, hash, content_hash, previous, warnings })
      const next = breaks_next && existing(rows, tillElement(till_id, number + 1))
      if (next) rows.put(tillElements, { ...next, warnings: [...new Set([...next.warnings, 'till_chain' as const])] })
    },
  },
})

/** The till as the webhook tells its gaps: `missing` is what was told last. */
export const tillView: RecordView = {
  refs: (id) => [tillById(id)],
  render(rows, id) {
    const row = rows.get(tillById(id))
    if (!row) return null
    const { number, name, told: missing } = row.doc
    return JSON.stringify({ id, number, name, missing })
  },
}

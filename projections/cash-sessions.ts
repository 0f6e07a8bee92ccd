import { inZone } from '#domain/instant.ts'
import { fromBigCents, toBigCents } from '#domain/money.ts'
import type { CASH_MOVEMENT_KINDS } from '#events/cash.ts'
import type { DataOf, EventOf } from '#events/catalogue.ts'
import type { RecordView } from '#ledger/projection.ts'
import { byKey, byPk, table } from '#ledger/table.ts'
import type { Changes, Rows } from '#ledger/working-set.ts'
import { companyRef, timezoneOf } from './companies.ts'
import {
  type ChangedFields,
  changedColumns,
  existing,
  INDEX_BY_CHANGE,
  INDEX_BY_PAST,
  projection,
  stamp,
} from './define.ts'

type Closed = DataOf<'CashSessionClosed'>

export type CashMovementKind = (typeof CASH_MOVEMENT_KINDS)[number]

/** What sales and returns brought, by payment type. */
export type CashTakings = Closed['takings']

/** A session without what its sales brought; times in UTC. */
export interface CashSessionState {
  readonly id: number
  readonly session_id: string
  readonly opened_at: string | null
  readonly opened_by: number | null
  readonly closed_at: string | null
  readonly closed_by: number | null
  readonly opening: string
  readonly received: string
  readonly in: string
  readonly out: string
  readonly counted: Closed['counted']
  readonly created_at: string
  readonly updated_at: string
}

export interface CashSessionRow extends ChangedFields {
  company_id: number
  id: number
  session_id: string
  opened_at: string | null
  closed_at: string | null
  /** Of the event that closed it. */
  closed_revision: number | null
  closed_recorded_at: string | null
  /** Whether a movement was recorded after the closing; sales and returns are not considered. */
  has_late_movement: boolean
  /** Largest difference of a payment type at the closing, in cents without sign; null if nothing was counted. */
  difference_cents: number | null
  /** What sales had brought at the closing. */
  takings: CashTakings | null
  doc: CashSessionState
}

const cashSessions = table<CashSessionRow>('cash_sessions', {
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    session_id: 'text',
    opened_at: 'timestamptz',
    closed_at: 'timestamptz',
    closed_revision: 'bigint',
    closed_recorded_at: 'timestamptz',
    has_late_movement: 'boolean',
    difference_cents: 'bigint',
    takings: 'json',
    ...changedColumns,
    doc: 'json',
  },
  keys: { pk: ['company_id', 'id'], session: ['company_id', 'session_id'] },
  indexes: [
    INDEX_BY_CHANGE,
    INDEX_BY_PAST,
    '(company_id, closed_recorded_at) where closed_recorded_at is not null',
    '(company_id, id) where closed_at is null',
  ],
  past: { id: 'id' },
})

const cashSessionById = (id: number) => byPk(cashSessions, id)
export const cashSessionByName = (sessionId: string) => byKey(cashSessions, 'session', sessionId)

/** A movement as it was uploaded, with the till's user. Rows are only added. */
export interface CashMovementRow extends ChangedFields {
  company_id: number
  offline_id: string
  session_id: string
  cash_session_id: number
  at: string
  actor: string | null
  warnings: DataOf<'CashMoved'>['warnings']
  doc: CashMovement
}

/** What makes two uploads the same movement. */
export interface CashMovement {
  readonly session_id: string
  readonly kind: CashMovementKind
  readonly amount: string | null
  readonly at: string
  readonly reason: string | null
  readonly receivable_id: number | null
  readonly counted: Closed['counted']
}

const cashMovements = table<CashMovementRow>('cash_movements', {
  columns: {
    company_id: 'bigint',
    offline_id: 'text',
    session_id: 'text',
    cash_session_id: 'bigint',
    at: 'timestamptz',
    actor: 'text',
    warnings: 'json',
    ...changedColumns,
    doc: 'json',
  },
  keys: { pk: ['company_id', 'offline_id'] },
  indexes: ['(company_id, session_id, at, revision)'],
  past: { id: 'revision', isFixed: true },
})

export const cashMovementById = (offlineId: string) => byPk(cashMovements, offlineId)

/** The session that a user of a till opened last: the drawer that money goes out of where nothing names another. */
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

/** User of an actor `user/3`; null for others. */
const userOf = (actor: string | null): number | null =>
  actor?.startsWith('user/') ? Number(actor.slice('user/'.length)) : null

type MovementEvent = EventOf<'CashSessionOpened'> | EventOf<'CashMoved'> | EventOf<'CashSessionClosed'>

const NOTHING = '0.00'

/** The session before the event; a new one if this is its first. */
function sessionBefore(rows: Changes, event: MovementEvent): Readonly<CashSessionRow> {
  const known = rows.get(cashSessionById(event.data.id))
  if (known) return known
  const { id, session_id } = event.data
  const { recorded_at } = event
  return {
    company_id: companyRef(rows).company_id,
    id,
    session_id,
    opened_at: null,
    closed_at: null,
    closed_revision: null,
    closed_recorded_at: null,
    has_late_movement: false,
    difference_cents: null,
    takings: null,
    ...stamp(event),
    doc: {
      id,
      session_id,
      opened_at: null,
      opened_by: null,
      closed_at: null,
      closed_by: null,
      opening: NOTHING,
      received: NOTHING,
      in: NOTHING,
      out: NOTHING,
      counted: null,
      created_at: recorded_at,
      updated_at: recorded_at,
    },
  }
}

/** Handler of a movement: `change` gives what it changes in the session. */
const moving = <E extends MovementEvent>(
  contentOf: (data: E['data']) => Pick<CashMovement, 'kind' | 'amount'> & Partial<CashMovement>,
  change: (event: E, before: Readonly<CashSessionRow>) => Partial<CashSessionState>,
) => ({
  refs: ({ data }: E) => [cashSessionById(data.id)],
  apply(rows: Changes, event: E) {
    const { company_id } = companyRef(rows)
    const { id, session_id, offline_id, at, reason, warnings } = event.data
    const { actor, recorded_at: updated_at } = event
    if (rows.wants(cashSessionById(id))) {
      const before = sessionBefore(rows, event)
      const doc = { ...before.doc, ...change(event, before), updated_at }
      const has_late_movement = before.has_late_movement || before.closed_at !== null
      const { opened_at, closed_at } = doc
      const columns = { opened_at, closed_at, has_late_movement, ...closingOf(event, doc) }
      rows.put(cashSessions, { ...before, ...stamp(event), ...columns, doc })
    }
    const movement = { session_id, at, reason, receivable_id: null, counted: null, ...contentOf(event.data) }
    rows.add(cashMovements, {
      ...{ company_id, offline_id, session_id, cash_session_id: id },
      ...{ at, actor, warnings },
      ...stamp(event),
      doc: movement,
    })
  },
})

/** Columns of a closing; none of other events. */
function closingOf(event: MovementEvent, doc: CashSessionState) {
  if (event.type !== 'CashSessionClosed') return {}
  const { takings, counted } = event.data
  const differences = cashByWay(doc, takings).flatMap(({ difference }) =>
    difference === null ? [] : Math.abs(Number(toBigCents(difference))),
  )
  return {
    closed_revision: event.revision,
    closed_recorded_at: event.recorded_at,
    difference_cents: counted === null ? null : Math.max(...differences),
    takings,
  }
}

export const cashSessionsProjection = projection('cash_sessions', [cashSessions, cashMovements], {
  CashSessionOpened: moving<EventOf<'CashSessionOpened'>>(
    ({ amount }) => ({ kind: 'opened', amount }),
    ({ data, actor }) => ({ opened_at: data.at, opened_by: userOf(actor), opening: data.amount }),
  ),
  CashMoved: moving<EventOf<'CashMoved'>>(
    ({ kind, amount, receivable_id }) => ({ kind, amount, receivable_id }),
    ({ data: { kind, amount } }, { doc }) => ({ [kind]: sumUp(doc[kind], amount) }),
  ),
  CashSessionClosed: moving<EventOf<'CashSessionClosed'>>(
    ({ counted }) => ({ kind: 'closed', amount: null, counted }),
    ({ data, actor }) => ({ closed_at: data.at, closed_by: userOf(actor), counted: data.counted }),
  ),
  ReceivablePaymentReversed: {
    refs: ({ data: { from_drawer: drawer } }) => (drawer ? [cashSessionById(drawer.id)] : []),
    apply(rows, event) {
      const { from_drawer: drawer } = event.data
      if (!drawer || !rows.wants(cashSessionById(drawer.id))) return
      const before = existing(rows, cashSessionById(drawer.id))
      const received = minus(before.doc.received, drawer.amount)
      const doc = { ...before.doc, received, updated_at: event.recorded_at }
      rows.put(cashSessions, { ...before, ...stamp(event), doc })
    },
  },
})

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

/** Money of a session in one payment type. All types in cash are one drawer. */
export interface CashWay {
  /** Of the drawer the company's first type in cash; null if it has none. */
  readonly payment_type_id: number | null
  readonly is_cash: boolean
  readonly expected: string
  /** Null if it was not counted. */
  readonly counted: string | null
  /** Counted less expected. */
  readonly difference: string | null
}

const sumUp = (...amounts: readonly string[]): string =>
  fromBigCents(amounts.reduce((sum, amount) => sum + toBigCents(amount), 0n))

const minus = (amount: string, ...others: readonly string[]): string =>
  fromBigCents(others.reduce((sum, other) => sum - toBigCents(other), toBigCents(amount)))

/** What the drawer's payments in cash brought, by kind. */
function drawerTakings({ ways }: CashTakings) {
  const cash = ways.filter(({ is_cash }) => is_cash)
  const of = (kind: 'sold' | 'cancelled' | 'returned') => sumUp(NOTHING, ...cash.map((way) => way[kind]))
  return { sales: of('sold'), cancelled: of('cancelled'), returned: of('returned') }
}

/** Expected and counted money of a session: the drawer first, then the other payment types by id. */
export function cashByWay(state: CashSessionState, takings: CashTakings): CashWay[] {
  const countOf = (type: number | null) =>
    state.counted?.find(({ payment_type_id }) => payment_type_id === type)?.amount ?? null
  const wayOf = (type: number | null, counted: string | null, expected: string, is_cash: boolean): CashWay => ({
    payment_type_id: type,
    is_cash,
    expected,
    counted,
    difference: counted === null ? null : minus(counted, expected),
  })
  const { sales, cancelled, returned } = drawerTakings(takings)
  const inDrawer = minus(sumUp(state.opening, sales, state.received, state.in), cancelled, returned, state.out)
  const others = new Map(
    takings.ways.flatMap(({ payment_type_id, is_cash, sold, cancelled, returned }) =>
      is_cash ? [] : [[payment_type_id, minus(sold, cancelled, returned)] as const],
    ),
  )
  for (const { payment_type_id: type } of state.counted ?? [])
    if (type !== null && !others.has(type)) others.set(type, NOTHING)
  return [
    wayOf(takings.drawer, countOf(null), inDrawer, true),
    ...[...others].sort(([a], [b]) => a - b).map(([type, expected]) => wayOf(type, countOf(type), expected, false)),
  ]
}

/** A session as the API returns it. */
export interface CashSessionObject {
  readonly id: number
  /** Given by the till, unique in the company; sales and returns name it. */
  readonly session_id: string
  readonly status: 'open' | 'closed'
  /** Null until the opening arrives. */
  readonly opened_at: string | null
  readonly opened_by_user_id: number | null
  readonly closed_at: string | null
  readonly closed_by_user_id: number | null
  readonly sales_count: number
  /** What makes up the expected cash: the last three leave the drawer. */
  readonly cash: {
    readonly opening: string
    readonly sales: string
    readonly received: string
    readonly in: string
    readonly out: string
    readonly returned: string
    readonly cancelled: string
  }
  /** Of the drawer. */
  readonly expected: string
  readonly counted: string | null
  readonly difference: string | null
  readonly by_payment_type: readonly CashWay[]
  readonly changed_after_close: boolean
  readonly created_at: string
  readonly updated_at: string
}

/** `updated_at`: the last change of the session, its sales and returns. Times may be as Postgres prints them. */
export function cashSessionObject(
  state: CashSessionState,
  takings: CashTakings,
  { changed_after_close, updated_at }: Pick<CashSessionObject, 'changed_after_close' | 'updated_at'>,
  timezone: string,
): CashSessionObject {
  const local = (at: string) => inZone(new Date(at).toISOString(), timezone)
  const { id, session_id, opened_at, opened_by, closed_at, closed_by } = state
  const { opening, received, in: moved_in, out } = state
  const by_payment_type = cashByWay(state, takings)
  const [{ expected, counted, difference }] = by_payment_type as [CashWay]
  const { sales, cancelled, returned } = drawerTakings(takings)
  return {
    id,
    session_id,
    status: closed_at === null ? 'open' : 'closed',
    opened_at: opened_at && local(opened_at),
    opened_by_user_id: opened_by,
    closed_at: closed_at && local(closed_at),
    closed_by_user_id: closed_by,
    sales_count: takings.sales,
    cash: { opening, sales, received, in: moved_in, out, returned, cancelled },
    expected,
    counted,
    difference,
    by_payment_type,
    changed_after_close,
    created_at: local(state.created_at),
    updated_at: local(updated_at),
  }
}

const NO_TAKINGS: CashTakings = { drawer: null, sales: 0, ways: [] }

/**
 * The session right after an event of its own, which is all that messages show: at its closing with what its sales had
 * brought by then. Lists and pages add up the sales of now.
 */
export const cashSessionView: RecordView = {
  refs: (id) => [cashSessionById(id)],
  render(rows, id) {
    const row = rows.get(cashSessionById(id))
    if (!row) return null
    const { doc, takings, has_late_movement: changed_after_close, changed_at: updated_at } = row
    const shown = { changed_after_close, updated_at }
    return JSON.stringify(cashSessionObject(doc, takings ?? NO_TAKINGS, shown, timezoneOf(rows)))
  },
}

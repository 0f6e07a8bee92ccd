import { inZone } from '#domain/instant.ts'
import { addAmounts, MAX_CENTS, subtractAmounts, toBigCents } from '#domain/money.ts'
import type { DataOf, EventOf } from '#events/catalogue.ts'
import type { CASH_MOVEMENT_KINDS } from '#events/till-events.ts'
import type { RecordView } from '#ledger/projection.ts'
import { byKey, byPk, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import {
  type CashTakings,
  type CashWay,
  cashByWay,
  drawerTakings,
  largestDifference,
  NO_CASH,
  type SessionCash,
} from './cash-takings.ts'
import { companyRef, getTimezone } from './companies.ts'
import {
  type ChangedFields,
  changedColumns,
  existing,
  INDEX_BY_CHANGE,
  INDEX_BY_PAST,
  projection,
  stamp,
} from './define-projection.ts'
import { userById } from './users.ts'

/** How a user explained the difference of a session. */
interface DifferenceExplanation extends Omit<DataOf<'CashDifferenceExplained'>, 'id'> {
  readonly by: number | null
  /** UTC */
  readonly at: string
}

/** A session without what its sales brought; times in UTC. */
export interface CashSessionState extends SessionCash {
  readonly id: number
  readonly session_id: string
  readonly opened_at: string | null
  readonly opened_by: number | null
  readonly closed_at: string | null
  readonly closed_by: number | null
  readonly explained: DifferenceExplanation | null
  readonly created_at: string
  readonly updated_at: string
}

export interface CashSessionRow extends ChangedFields {
  company_id: number
  id: number
  session_id: string
  opened_at: string | null
  closed_at: string | null
  /** User who opened it, or until then who moved it first. */
  owner: number | null
  /** Till that signed its first movement; null without a signature. Its operators share the drawer. */
  till_id: number | null
  /** Of the event that closed it. */
  closed_revision: number | null
  closed_recorded_at: string | null
  /** Whether a movement was recorded after the closing; sales and returns are not considered. */
  has_late_movement: boolean
  /**
   * Largest difference of a payment type at the closing, in cents without sign, at most MAX_CENTS; null if nothing was
   * counted.
   */
  difference_cents: number | null
  /** What sales had brought at the closing. */
  takings: CashTakings | null
  doc: CashSessionState
}

const cashSessions = table<CashSessionRow>('cash_sessions', {
  about: 'Cash sessions of tills, from opening to count.',
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    session_id: 'text',
    opened_at: 'timestamptz',
    closed_at: 'timestamptz',
    owner: 'bigint',
    till_id: 'bigint',
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

export const cashSessionById = (id: number) => byPk(cashSessions, id)
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
export interface CashMovement extends Pick<DataOf<'CashMoved'>, 'payable_id'> {
  readonly session_id: string
  readonly kind: (typeof CASH_MOVEMENT_KINDS)[number]
  readonly amount: string | null
  readonly at: string
  readonly reason: string | null
  readonly receivable_id: number | null
  readonly counted: SessionCash['counted']
}

const cashMovements = table<CashMovementRow>('cash_movements', {
  about: 'Movements of the drawer of a cash session.',
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

/** User of an actor `user/3`; null for others. */
export const parseUserActor = (actor: string | null): number | null =>
  actor?.startsWith('user/') ? Number(actor.slice('user/'.length)) : null

/** User who moved the drawer; of an upload that a person has recorded the user of its till. */
const findMover = ({ actor, data: { settles } }: Pick<MovementEvent, 'actor' | 'data'>): string | null =>
  settles ? `user/${settles.owner_id}` : actor

/** User whose drawer was moved. */
export const findDrawerOwner = ({ actor, data }: Pick<MovementEvent, 'actor' | 'data'>): number | null =>
  data.settles?.owner_id ?? data.owner_id ?? parseUserActor(actor)

type MovementEvent = EventOf<'CashSessionOpened'> | EventOf<'CashMoved'> | EventOf<'CashSessionClosed'>

/**
 * The session before the event; a new one if this is its first, or if its drawer has been another user's: what others
 * reported before it was opened is not of it.
 */
function sessionBefore(rows: Changes, event: MovementEvent): Readonly<CashSessionRow> {
  const known = rows.get(cashSessionById(event.data.id))
  const owner = findDrawerOwner(event)
  if (known && (event.type !== 'CashSessionOpened' || known.owner === owner)) return known
  const { id, session_id } = event.data
  const { recorded_at } = event
  return {
    company_id: companyRef(rows).company_id,
    id,
    session_id,
    opened_at: null,
    closed_at: null,
    owner,
    till_id: event.data.till_id ?? null,
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
      opening: NO_CASH,
      received: NO_CASH,
      in: NO_CASH,
      out: NO_CASH,
      counted: null,
      explained: null,
      created_at: recorded_at,
      updated_at: recorded_at,
    },
  }
}

/** Handler of a movement. `contentOf`: the movement as it is stored; `change`: the changed fields of the session. */
const moving = <E extends MovementEvent>(
  contentOf: (data: E['data']) => Pick<CashMovement, 'kind' | 'amount'> & Partial<CashMovement>,
  change: (event: E, before: Readonly<CashSessionRow>) => Partial<CashSessionState>,
) => ({
  refs: ({ data }: E) => [cashSessionById(data.id)],
  apply(rows: Changes, event: E) {
    const { company_id } = companyRef(rows)
    const { id, session_id, offline_id, at, reason, warnings } = event.data
    const { recorded_at: updated_at } = event
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
      company_id,
      offline_id,
      session_id,
      cash_session_id: id,
      at,
      actor: findMover(event),
      warnings,
      ...stamp(event),
      doc: movement,
    })
  },
})

/** Columns of a closing; none of other events. */
function closingOf(event: MovementEvent, doc: CashSessionState) {
  if (event.type !== 'CashSessionClosed') return {}
  const { takings } = event.data
  const difference = largestDifference(doc, takings)
  return {
    closed_revision: event.revision,
    closed_recorded_at: event.recorded_at,
    difference_cents: difference === null ? null : Math.min(Math.abs(Number(toBigCents(difference))), MAX_CENTS),
    takings,
  }
}

export const cashSessionsProjection = projection('cash_sessions', [cashSessions, cashMovements], {
  CashSessionOpened: moving<EventOf<'CashSessionOpened'>>(
    ({ amount }) => ({ kind: 'opened', amount }),
    (event) => ({
      opened_at: event.data.at,
      opened_by: parseUserActor(findMover(event)),
      opening: event.data.amount,
    }),
  ),
  CashMoved: moving<EventOf<'CashMoved'>>(
    ({ kind, amount, receivable_id, payable_id }) => ({
      ...{ kind, amount, receivable_id },
      ...(payable_id !== undefined && { payable_id }),
    }),
    ({ data: { kind, amount } }, { doc }) => ({ [kind]: addAmounts(doc[kind], amount) }),
  ),
  CashSessionClosed: moving<EventOf<'CashSessionClosed'>>(
    ({ counted }) => ({ kind: 'closed', amount: null, counted }),
    (event) => ({
      closed_at: event.data.at,
      closed_by: parseUserActor(findMover(event)),
      counted: event.data.counted,
    }),
  ),
  CashDifferenceExplained: {
    refs: ({ data: { id } }) => [cashSessionById(id)],
    apply(rows, event) {
      const { actor, recorded_at: at, data } = event
      if (!rows.wants(cashSessionById(data.id))) return
      const before = existing(rows, cashSessionById(data.id))
      const { id: _, ...explanation } = data
      const doc = { ...before.doc, explained: { ...explanation, by: parseUserActor(actor), at }, updated_at: at }
      rows.put(cashSessions, { ...before, ...stamp(event), doc })
    },
  },
  ReceivablePaymentReversed: {
    refs: ({ data: { from_drawer: drawer } }) => (drawer ? [cashSessionById(drawer.id)] : []),
    apply(rows, event) {
      const { from_drawer: drawer } = event.data
      if (!drawer || !rows.wants(cashSessionById(drawer.id))) return
      const before = existing(rows, cashSessionById(drawer.id))
      const received = subtractAmounts(before.doc.received, drawer.amount)
      const doc = { ...before.doc, received, updated_at: event.recorded_at }
      rows.put(cashSessions, { ...before, ...stamp(event), doc })
    },
  },
})

/** A session as the API returns it. */
export interface CashSessionObject {
  readonly id: number
  /** Given by the till, unique in the company; sales and returns name it. */
  readonly session_id: string
  /** For people: whose drawer, its day and time of day. */
  readonly name: string
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
  /** Why there is a difference; null as long as no user has explained it. */
  readonly reason: DifferenceExplanation['reason'] | null
  readonly note: string | null
  readonly explained_by_user_id: number | null
  readonly explained_at: string | null
  readonly created_at: string
  readonly updated_at: string
}

export const firstName = (name: string | null): string | null => name?.split(' ')[0] ?? null

/** `Gaveta de Bruno, 28/11, manhã`; without an opening by its closing, or when it became known. */
export function nameSession(
  { opened_at, closed_at, created_at }: Pick<CashSessionState, 'opened_at' | 'closed_at' | 'created_at'>,
  owner: string | null,
  timezone: string,
): string {
  const at = inZone(new Date(opened_at ?? closed_at ?? created_at).toISOString(), timezone)
  const hour = Number(at.slice(11, 13))
  const part = hour < 5 ? 'madrugada' : hour < 12 ? 'manhã' : hour < 18 ? 'tarde' : 'noite'
  const whose = owner === null ? '' : ` de ${firstName(owner)}`
  return `Gaveta${whose}, ${at.slice(8, 10)}/${at.slice(5, 7)}, ${part}`
}

/** What is shown of a session beside its state and takings. */
export interface ShownSession extends Pick<CashSessionObject, 'changed_after_close' | 'updated_at'> {
  /** Name of the user whose drawer it is. */
  readonly owner_name: string | null
}

/** `updated_at`: the last change of the session, its sales and returns. Times may be as Postgres prints them. */
export function cashSessionObject(
  state: CashSessionState,
  takings: CashTakings,
  { changed_after_close, updated_at, owner_name }: ShownSession,
  timezone: string,
): CashSessionObject {
  const local = (at: string) => inZone(new Date(at).toISOString(), timezone)
  const { id, session_id, opened_at, opened_by, closed_at, closed_by, explained } = state
  const { opening, received, in: moved_in, out } = state
  const by_payment_type = cashByWay(state, takings)
  const [{ expected, counted, difference }] = by_payment_type as [CashWay]
  const { sales, cancelled, returned } = drawerTakings(takings)
  return {
    id,
    session_id,
    name: nameSession(state, owner_name, timezone),
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
    reason: explained?.reason ?? null,
    note: explained?.note ?? null,
    explained_by_user_id: explained?.by ?? null,
    explained_at: explained && local(explained.at),
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
  refsMore(rows, id) {
    const owner = rows.get(cashSessionById(id))?.owner ?? null
    return owner === null ? [] : [userById(owner)]
  },
  render(rows, id) {
    const row = rows.get(cashSessionById(id))
    if (!row) return null
    const { doc, owner, takings, has_late_movement: changed_after_close, changed_at: updated_at } = row
    const owner_name = owner === null ? null : (rows.get(userById(owner))?.doc.name ?? null)
    const shown = { changed_after_close, updated_at, owner_name }
    return JSON.stringify(cashSessionObject(doc, takings ?? NO_TAKINGS, shown, getTimezone(rows)))
  },
}

import { toBigCents } from '#domain/money.ts'
import type { Refusal } from '#domain/refusals.ts'
import { toText } from '#lib/fair-sharing.ts'
import {
  type CashMovement,
  type CashMovementRow,
  type CashSessionObject,
  type CashSessionState,
  cashSessionObject,
  firstName,
  nameSession,
  type ShownSession,
} from '#projections/cash-sessions.ts'
import { type CashTakings, cashByWay, largestDifference, TAKINGS } from '#projections/cash-takings.ts'
import type { FilterValues } from '#records/field.ts'
import type { CASH_SESSION_FILTERS } from '#records/list-filters.ts'
import { type ListOrder, moneySum } from './list-statement.ts'
import type { Reader } from './reader.ts'
import {
  type FoundRecords,
  getBy,
  type Listing,
  type ListPaging,
  list,
  listInOrder,
  NEWEST_FIRST,
  type Page,
  type Paging,
} from './record-queries.ts'
import { t } from './table-names.ts'

/** SQL of the last change of a session with its sales, and whether any came after its closing. */
const CHANGES = `cross join lateral (
    select greatest(t.changed_at, max(c.changed_at)) as changed_at, greatest(t.revision, max(c.revision)) as revision
    from (
      select s.changed_at, s.revision from ${t.sales} s where s.company_id = t.company_id and s.cash_session_id = t.session_id
      union all
      select s.changed_at, s.revision from ${t.sales} s where s.company_id = t.company_id and s.cancel_session_id = t.session_id
      union all
      select r.changed_at, r.revision from ${t.returns} r where r.company_id = t.company_id and r.cash_session_id = t.session_id
    ) c) m`

/** Whether a movement, sale, cancellation or return was recorded after the closing. */
const IS_LATE = `(t.has_late_movement or t.closed_revision is not null and (
    exists (select from ${t.sales} s join ${t.offline_sales} o on o.company_id = s.company_id and o.sale_id = s.id
      where s.company_id = t.company_id and s.cash_session_id = t.session_id and s.changed_at >= t.closed_recorded_at
        and o.revision > t.closed_revision)
    or exists (select from ${t.sales} s
      where s.company_id = t.company_id and s.cancel_session_id = t.session_id
        and (s.doc ->> 'cancelled_at')::timestamptz > t.closed_recorded_at)
    or exists (select from ${t.returns} r
      where r.company_id = t.company_id and r.cash_session_id = t.session_id
        and (r.doc ->> 'created_at')::timestamptz > t.closed_recorded_at)))`

interface CashSessionFilters extends FilterValues<typeof CASH_SESSION_FILTERS> {
  /** Sessions that were open between two instants: these end after the first. */
  readonly ended_after?: string | undefined
  /** And begin before this one. */
  readonly begun_before?: string | undefined
  /** Sessions that begin from this instant on. */
  readonly begun_from?: string | undefined
}

interface Shown extends ShownSession {
  readonly state: CashSessionState
  readonly takings: CashTakings
}

const present = (record: unknown, timezone: string): CashSessionObject => {
  const { state, takings, ...shown } = record as Shown
  return cashSessionObject(state, takings, shown, timezone)
}

/** No index: sessions are few. */
const BY_CHANGE: ListOrder = {
  name: 'change',
  columns: [
    { name: 'changed_at', type: 'timestamptz', of: 'm' },
    { name: 'revision', type: 'bigint', of: 'm' },
    { name: 'id', type: 'bigint' },
  ],
  isSorted: true,
}

/** SQL of the name of the user whose drawer it is. */
const OWNER_NAME = `(select u.doc ->> 'name' from ${t.users} u where u.company_id = t.company_id and u.id = t.owner)`

const listing: Listing<CashSessionFilters> = {
  resource: 'cash_sessions',
  from: `${t.cash_sessions} t ${CHANGES}`,
  record: `json_build_object('state', t.doc, 'takings', ${TAKINGS}, 'changed_after_close', ${IS_LATE},
    'updated_at', m.changed_at, 'owner_name', ${OWNER_NAME})`,
  byChange: BY_CHANGE,
  filters: {
    // An open session lasts until now.
    ended_after: (value) => `(t.closed_at is null or t.closed_at >= ${value}::timestamptz)`,
    begun_before: (value) =>
      `coalesce(t.opened_at, t.closed_at, (t.doc ->> 'created_at')::timestamptz) < ${value}::timestamptz`,
    begun_from: (value) => `coalesce(t.opened_at, t.closed_at) >= ${value}::timestamptz`,
    session_id: (value) => `t.session_id = ${value}::text`,
    status: (value) => `(t.closed_at is null) = (${value}::text = 'open')`,
  },
  present,
}

/** Sessions; with `updated_since` those with a changed sale too. */
export const listCashSessions = (reader: Reader, query: ListPaging & CashSessionFilters): Promise<Page | Refusal> =>
  list(reader, listing, query)

export const getCashSession = (reader: Reader, id: number): Promise<FoundRecords> => getBy(reader, listing, 'id', id)

/** Open sessions that a form offers; shops have fewer. */
const MAX_OFFERED = 50

/** A drawer that is open; `owner`: the user whose it is. */
export interface DrawerChoice {
  readonly id: number
  readonly session_id: string
  readonly owner: number | null
  readonly name: string
  /** First name of the owner. */
  readonly owner_name: string | null
  readonly opened_at: string | null
}

/** The open drawers that a user may see, the latest first. */
export async function listOpenDrawers(reader: Reader, timezone: string): Promise<DrawerChoice[]> {
  const { rows } = await reader.query<{ state: CashSessionState; owner: number | null; owner_name: string | null }>({
    name: 'open_drawers',
    text: `select t.doc as state, t.owner, ${OWNER_NAME} as owner_name from ${t.cash_sessions} t
      where t.company_id = $1 and t.closed_at is null order by t.id desc limit ${MAX_OFFERED}`,
  })
  return rows.map(({ state, owner, owner_name }) => ({
    ...{ id: state.id, session_id: state.session_id, owner, opened_at: state.opened_at },
    name: nameSession(state, owner_name, timezone),
    owner_name: firstName(owner_name),
  }))
}

/** Sessions for people, newest first. */
export const listLatestCashSessions = (reader: Reader, query: Paging & CashSessionFilters): Promise<Page | Refusal> =>
  listInOrder(reader, listing, NEWEST_FIRST, query)

/** Bound of the sessions of a day; shops have fewer. */
const MAX_OF_DAY = 100

/** Sessions that were open in a day, which its start and end (UTC) bound, the first opened first. */
export async function cashSessionsOfDay(reader: Reader, from: string, to: string): Promise<CashSessionObject[]> {
  const page = await listInOrder(reader, listing, NEWEST_FIRST, {
    limit: MAX_OF_DAY,
    ended_after: from,
    begun_before: to,
  })
  if ('refused' in page) throw new Error(`cash sessions: ${page.refused}`)
  const sessions = JSON.parse(`[${toText(page.data)}]`) as CashSessionObject[]
  page.release?.()
  return sessions.reverse()
}

/** Rows of each kind on a page; a session has fewer. */
export const MAX_SHOWN_OF_SESSION = 100

/** Times as Postgres prints them. */
interface ShownDetails {
  readonly at: string
}

export interface ShownCashMovement
  extends ShownDetails,
    Pick<CashMovement, 'amount' | 'reason' | 'receivable_id' | 'payable_id'> {
  /** `reversed`: a receipt that was reversed while the session was open. */
  readonly kind: CashMovement['kind'] | 'reversed'
  /** `user/3` */
  readonly actor: string | null
  readonly warnings: CashMovementRow['warnings']
}

export interface SaleOfSession extends ShownDetails {
  readonly id: number
  readonly total: string
  readonly status: 'completed' | 'cancelled'
  /** Of the payments. */
  readonly ways: readonly string[]
  /** Whether the session gave the money of another one's sale back. */
  readonly is_refund: boolean
}

export interface ReturnOfSession extends ShownDetails {
  readonly id: number
  readonly sale_id: number
  readonly total: string
}

/** What happened in a session, in the order of the till's clock; `MAX_SHOWN_OF_SESSION` of each kind at most. */
export interface CashSessionDetails {
  readonly movements: readonly ShownCashMovement[]
  /** Latest first. */
  readonly sales: readonly SaleOfSession[]
  readonly returns: readonly ReturnOfSession[]
}

const WAYS = `(select coalesce(json_agg(payment ->> 'name'), '[]') from json_array_elements(s.doc -> 'payments') payment)`

const saleOf = (
  isRefund: boolean,
): string => `select s.id, s.sold_at as at, ${moneySum('s.total_cents')} as total, s.status,
        ${WAYS} as ways, ${isRefund} as is_refund
      from ${t.sales} s`

/** The same of receipts that left the drawer again; their accounts are those of the session's movements. */
const REVERSED = `select (p.doc ->> 'reversed_at')::timestamptz, (p.doc ->> 'id')::bigint, null, '[]'::json,
        'reversed', '-' || (p.doc ->> 'received'), p.doc ->> 'reversal_reason', to_json(a.id), null
      from ${t.receivables} a
      cross join lateral json_array_elements(a.doc -> 'payments') p (doc)
      left join ${t.cash_sessions} t on t.company_id = a.company_id and t.session_id = $2
      where a.company_id = $1 and p.doc ->> 'cash_session_id' = $2
        and (p.doc ->> 'reversed_at')::timestamptz <= coalesce(t.closed_recorded_at, 'infinity')
        and a.id in (select (m.doc ->> 'receivable_id')::bigint from ${t.cash_movements} m
          where m.company_id = $1 and m.session_id = $2 and m.doc ->> 'kind' = 'received')`

/** SQL condition: the movement `m` is of the drawer `t`. What others reported before its opening is not. */
const IS_OF_DRAWER = `(t.owner is null or m.actor = 'user/' || t.owner or m.revision > (
        select o.revision from ${t.cash_movements} o
        where o.company_id = t.company_id and o.session_id = t.session_id and o.doc ->> 'kind' = 'opened'
        order by o.revision desc limit 1))`

/** $1 company, $2 the till's name of the session. */
const DETAILS = `
  select
    (select coalesce(json_agg(m order by m.at, m.revision), '[]') from (
      select m.at, m.revision, m.actor, m.warnings, m.doc ->> 'kind' as kind, m.doc ->> 'amount' as amount,
        m.doc ->> 'reason' as reason, m.doc -> 'receivable_id' as receivable_id, m.doc -> 'payable_id' as payable_id
      from ${t.cash_movements} m join ${t.cash_sessions} t on t.company_id = m.company_id and t.id = m.cash_session_id
      where m.company_id = $1 and m.session_id = $2 and ${IS_OF_DRAWER}
      union all
      ${REVERSED}
      order by at, revision limit ${MAX_SHOWN_OF_SESSION}) m) as movements,
    (select coalesce(json_agg(s order by s.at desc, s.id desc), '[]') from (
      select * from (
        (${saleOf(false)} where s.company_id = $1 and s.cash_session_id = $2)
        union all
        (${saleOf(true)} where s.company_id = $1 and s.cancel_session_id = $2 and s.cash_session_id is distinct from $2)) s
      order by s.at desc, s.id desc limit ${MAX_SHOWN_OF_SESSION}) s) as sales,
    (select coalesce(json_agg(r order by r.at, r.id), '[]') from (
      select r.id, r.sale_id, r.returned_at as at, ${moneySum('r.total_cents')} as total
      from ${t.returns} r where r.company_id = $1 and r.cash_session_id = $2 and not r.is_in_drawer
      order by r.returned_at, r.id limit ${MAX_SHOWN_OF_SESSION}) r) as returns`

export async function getCashSessionDetails(reader: Reader, sessionId: string): Promise<CashSessionDetails> {
  const values = [sessionId]
  const { rows } = await reader.query<CashSessionDetails>({ name: 'cash_session_details', text: DETAILS, values })
  return rows[0] as CashSessionDetails
}

/** SQL of the events that changed a row, as far as the row has them. */
const revisionsOf = (row: string): string => `
  select ${row}.revision union all
  select value::bigint from json_array_elements_text(coalesce(${row}.past_revisions, '[]'))`

const REVISIONS = {
  name: 'revisions_in_drawer',
  text: `
    select distinct e.revision
    from (
      select r.revision from ${t.sales} s cross join lateral (${revisionsOf('s')}) r
      where s.company_id = $1 and (s.cash_session_id = $2 or s.cancel_session_id = $2)
      union all
      select r.revision from ${t.returns} b cross join lateral (${revisionsOf('b')}) r
      where b.company_id = $1 and b.cash_session_id = $2) e
    order by e.revision desc limit ${MAX_SHOWN_OF_SESSION}`,
}

/** The last events of the sales and returns of a session, ascending. */
export async function listDrawerRevisions(reader: Reader, sessionId: string): Promise<number[]> {
  const { rows } = await reader.query<{ revision: number }>({ ...REVISIONS, values: [sessionId] })
  return rows.map(({ revision }) => revision).reverse()
}

/** Differences up to this are not shown on the start page, in cents. */
const CASH_TOLERANCE_CENTS = 500

/** Considered sessions, latest first: more than a company's tills close in the days of the start page. */
const MAX_SESSIONS = 500

const MAX_SHOWN = 20

/** A closed session with a difference beyond the tolerance. */
export interface CashDifference {
  readonly id: number
  readonly name: string
  /** First name of the user whose drawer it is. */
  readonly owner: string | null
  /** By the till's clock; without an opening, when it was closed. */
  readonly opened_at: string
  /** The largest one, signed. */
  readonly difference: string
  /** Of the cash; null if it was not counted. */
  readonly in_drawer: string | null
}

/**
 * Sessions that had a difference at their closing, or that changed since: late sales may explain a difference, or cause
 * one. $1 company, $2 recorded since, $3 tolerance in cents.
 */
const CANDIDATES = `
  select t.doc as state, ${TAKINGS} as takings, ${OWNER_NAME} as owner_name
  from ${t.cash_sessions} t
  where t.company_id = $1 and t.closed_recorded_at is not null and t.closed_recorded_at >= $2::timestamptz
    and t.difference_cents is not null and (t.difference_cents > $3::bigint or ${IS_LATE})
  order by t.closed_recorded_at desc
  limit ${MAX_SESSIONS}`

const size = (amount: string): bigint => {
  const cents = toBigCents(amount)
  return cents < 0n ? -cents : cents
}

/** Sessions closed since an instant (UTC) with a difference beyond the tolerance that is not explained, as of now. */
export async function findCashDifferences(reader: Reader, since: string, timezone: string): Promise<CashDifference[]> {
  const { rows } = await reader.query<Pick<Shown, 'state' | 'takings' | 'owner_name'>>({
    name: 'cash_differences',
    text: CANDIDATES,
    values: [since, CASH_TOLERANCE_CENTS],
  })
  const differing = rows.flatMap(({ state, takings, owner_name }) => {
    const difference = largestDifference(state, takings)
    if (difference === null || size(difference) <= BigInt(CASH_TOLERANCE_CENTS)) return []
    if (state.explained?.difference === difference) return []
    return {
      id: state.id,
      name: nameSession(state, owner_name, timezone),
      owner: firstName(owner_name),
      opened_at: state.opened_at ?? state.closed_at ?? state.created_at,
      difference,
      in_drawer: cashByWay(state, takings)[0]?.difference ?? null,
    }
  })
  return differing.slice(0, MAX_SHOWN)
}

import type { Refusal } from '#domain/refusal.ts'
import { toText } from '#lib/bytes.ts'
import { type CashSessionObject, type CashSessionState, cashSessionObject } from '#projections/cash-sessions.ts'
import { type CashTakings, TAKINGS } from '#projections/cash-takings.ts'
import type { ListOrder } from '../list-statement.ts'
import type { Reader } from '../reader.ts'
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
} from '../records.ts'
import { t } from '../table-names.ts'

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
export const IS_LATE = `(t.has_late_movement or t.closed_revision is not null and (
    exists (select from ${t.sales} s join ${t.offline_sales} o on o.company_id = s.company_id and o.sale_id = s.id
      where s.company_id = t.company_id and s.cash_session_id = t.session_id and s.changed_at >= t.closed_recorded_at
        and o.revision > t.closed_revision)
    or exists (select from ${t.sales} s
      where s.company_id = t.company_id and s.cancel_session_id = t.session_id
        and (s.doc ->> 'cancelled_at')::timestamptz > t.closed_recorded_at)
    or exists (select from ${t.returns} r
      where r.company_id = t.company_id and r.cash_session_id = t.session_id
        and (r.doc ->> 'created_at')::timestamptz > t.closed_recorded_at)))`

interface CashSessionFilters {
  /** Sessions that were open between two instants: these end after the first. */
  readonly ended_after?: string | undefined
  /** And begin before this one. */
  readonly begun_before?: string | undefined
  readonly session_id?: string | undefined
  readonly status?: CashSessionObject['status'] | undefined
}

interface Shown {
  readonly state: CashSessionState
  readonly takings: CashTakings
  readonly changed_after_close: boolean
  readonly updated_at: string
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

const listing: Listing<CashSessionFilters> = {
  resource: 'cash_sessions',
  from: `${t.cash_sessions} t ${CHANGES}`,
  record: `json_build_object('state', t.doc, 'takings', ${TAKINGS}, 'changed_after_close', ${IS_LATE},
    'updated_at', m.changed_at)`,
  byChange: BY_CHANGE,
  filters: {
    // An open session lasts until now.
    ended_after: (value) => `(t.closed_at is null or t.closed_at >= ${value}::timestamptz)`,
    begun_before: (value) =>
      `coalesce(t.opened_at, t.closed_at, (t.doc ->> 'created_at')::timestamptz) < ${value}::timestamptz`,
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

/** Names of the open sessions, the latest first. */
export async function listOpenSessionNames(reader: Reader): Promise<string[]> {
  const { rows } = await reader.query<{ session_id: string }>({
    name: 'open_session_names',
    text: `select session_id from ${t.cash_sessions} where company_id = $1 and closed_at is null order by id desc limit ${MAX_OFFERED}`,
  })
  return rows.map(({ session_id }) => session_id)
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

import type { CashMovement, CashMovementRow } from '#projections/cash-sessions.ts'
import type { Reader } from '../reader.ts'
import { moneySum } from '../sums.ts'
import { t } from '../table-names.ts'

/** Rows of each kind on a page; a session has fewer. */
export const MAX_SHOWN_OF_SESSION = 100

/** Times as Postgres prints them. */
interface Shown {
  readonly at: string
}

export interface ShownCashMovement extends Shown, Pick<CashMovement, 'amount' | 'reason' | 'receivable_id'> {
  /** `reversed`: a receipt that was reversed while the session was open. */
  readonly kind: CashMovement['kind'] | 'reversed'
  /** `user/3` */
  readonly actor: string | null
  readonly warnings: CashMovementRow['warnings']
}

export interface SaleOfSession extends Shown {
  readonly id: number
  readonly total: string
  readonly status: 'completed' | 'cancelled'
  /** Of the payments. */
  readonly ways: readonly string[]
  /** Whether the session gave the money of another one's sale back. */
  readonly is_refund: boolean
}

export interface ReturnOfSession extends Shown {
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
        'reversed', '-' || (p.doc ->> 'received'), p.doc ->> 'reversal_reason', to_json(a.id)
      from ${t.receivables} a
      cross join lateral json_array_elements(a.doc -> 'payments') p (doc)
      left join ${t.cash_sessions} t on t.company_id = a.company_id and t.session_id = $2
      where a.company_id = $1 and p.doc ->> 'cash_session_id' = $2
        and (p.doc ->> 'reversed_at')::timestamptz <= coalesce(t.closed_recorded_at, 'infinity')
        and a.id in (select (m.doc ->> 'receivable_id')::bigint from ${t.cash_movements} m
          where m.company_id = $1 and m.session_id = $2 and m.doc ->> 'kind' = 'received')`

/** $1 company, $2 the till's name of the session. */
const DETAILS = `
  select
    (select coalesce(json_agg(m order by m.at, m.revision), '[]') from (
      select m.at, m.revision, m.actor, m.warnings, m.doc ->> 'kind' as kind, m.doc ->> 'amount' as amount,
        m.doc ->> 'reason' as reason, m.doc -> 'receivable_id' as receivable_id
      from ${t.cash_movements} m join ${t.cash_sessions} t on t.company_id = m.company_id and t.id = m.cash_session_id
      where m.company_id = $1 and m.session_id = $2 and (t.owner is null or m.actor = 'user/' || t.owner)
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

import { toBigCents } from '#domain/money.ts'
import type { CashSessionState } from '#projections/cash-sessions.ts'
import { type CashTakings, TAKINGS } from '#projections/cash-takings.ts'
import { cashByWay } from '#projections/expected-cash.ts'
import type { Reader } from '../reader.ts'
import { t } from '../table-names.ts'
import { IS_LATE } from './sessions.ts'

/** Differences up to this are not shown on the start page, in cents. */
const CASH_TOLERANCE_CENTS = 500

/** Considered sessions, latest first: more than a company's tills close in the days of the start page. */
const MAX_SESSIONS = 500

const MAX_SHOWN = 20

/** A closed session with a difference beyond the tolerance. */
export interface CashDifference {
  readonly id: number
  /** By the till's clock. */
  readonly closed_at: string | null
  /** The largest one, signed. */
  readonly difference: string
}

/**
 * Sessions that had a difference at their closing, or that changed since: late sales may explain a difference, or cause
 * one. $1 company, $2 recorded since, $3 tolerance in cents.
 */
const CANDIDATES = `
  select t.doc as state, ${TAKINGS} as takings
  from ${t.cash_sessions} t
  where t.company_id = $1 and t.closed_recorded_at is not null and t.closed_recorded_at >= $2::timestamptz
    and t.difference_cents is not null and (t.difference_cents > $3::bigint or ${IS_LATE})
  order by t.closed_recorded_at desc
  limit ${MAX_SESSIONS}`

const size = (amount: string): bigint => {
  const cents = toBigCents(amount)
  return cents < 0n ? -cents : cents
}

/** Sessions closed since an instant (UTC) with a difference beyond the tolerance, as of now. */
export async function findCashDifferences(reader: Reader, since: string): Promise<CashDifference[]> {
  const { rows } = await reader.query<{ readonly state: CashSessionState; readonly takings: CashTakings }>({
    name: 'cash_differences',
    text: CANDIDATES,
    values: [since, CASH_TOLERANCE_CENTS],
  })
  const differing = rows.flatMap(({ state, takings }) => {
    const differences = cashByWay(state, takings).flatMap(({ difference }) => difference ?? [])
    const [difference] = differences.sort((a, b) => (size(a) < size(b) ? 1 : -1))
    if (difference === undefined || size(difference) <= BigInt(CASH_TOLERANCE_CENTS)) return []
    return { id: state.id, closed_at: state.closed_at, difference }
  })
  return differing.slice(0, MAX_SHOWN)
}

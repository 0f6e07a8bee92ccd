import type { Reader } from './reader.ts'
import { t } from './table-names.ts'

/** Pending work of a company by the panel section that handles it. */
export interface PendingCounts {
  /** Refused sales of tills. */
  readonly tills: number
  /** Overdue accounts. */
  readonly receivables: number
  readonly payables: number
  /** Orders with an unacknowledged alarm. */
  readonly store: number
  /** Enabled webhooks that have failed for some minutes. */
  readonly integrations: number
}

/** Bound of each count, which costs as many index rows at most. */
export const MAX_PENDING = 100

const FAILING_MINUTES = 5

const counted = (rows: string): string =>
  `(select count(*)::integer from (select ${rows} limit ${MAX_PENDING}) as waiting)`

/** $1 company, $2 its day. */
const WAITING = {
  name: 'panel_waiting',
  text: `select
    ${counted(`from ${t.refused_sales} where company_id = $1 and settled_at is null`)} as tills,
    ${counted(`from ${t.receivables} where company_id = $1 and status = 'pending' and due_date < $2::date and deleted_at is null`)} as receivables,
    ${counted(`from ${t.payables} where company_id = $1 and status = 'pending' and due_date < $2::date and deleted_at is null`)} as payables,
    ${counted(`from ${t.orders} where company_id = $1 and has_open_alarm`)} as store,
    ${counted(`from ${t.webhooks} w join ${t.webhook_health} h on h.company_id = w.company_id and h.webhook_id = w.id
      where w.company_id = $1 and w.enabled and w.deleted_at is null and h.failing_since >= w.watched_since
        and h.failing_since < now() - interval '${FAILING_MINUTES} minutes'`)} as integrations`,
}

/** Counts pending work in one statement. `pool` is the primary's: tills and webhooks are not part of the ledger. */
export async function countPending(reader: Reader, today: string): Promise<PendingCounts> {
  const { rows } = await reader.query<PendingCounts>({ ...WAITING, values: [today] })
  return rows[0] as PendingCounts
}

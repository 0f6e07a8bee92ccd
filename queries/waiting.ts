import type { Pool } from 'pg'

/** What waits for somebody in a company, by the section of the panel where it is seen to. */
export interface Waiting {
  /** Sales of tills that were refused. */
  readonly tills: number
  /** Overdue accounts. */
  readonly receivables: number
  readonly payables: number
  /** Orders with an alarm that nobody has seen. */
  readonly store: number
  /** Webhooks that are on and have failed for some minutes. */
  readonly integrations: number
}

/** Nobody counts further: each costs as many rows of an index at most. */
export const MOST_WAITING = 100

const FAILING_MINUTES = 5

const counted = (rows: string): string =>
  `(select count(*)::integer from (select ${rows} limit ${MOST_WAITING}) as waiting)`

/** $1 company, $2 its day. */
const WAITING = {
  name: 'panel_waiting',
  text: `select
    ${counted('from refused_sales where company_id = $1 and settled_at is null')} as tills,
    ${counted(`from receivables where company_id = $1 and status = 'pending' and due_date < $2::date and deleted_at is null`)} as receivables,
    ${counted(`from payables where company_id = $1 and status = 'pending' and due_date < $2::date and deleted_at is null`)} as payables,
    ${counted('from orders where company_id = $1 and has_open_alarm')} as store,
    ${counted(`from webhooks w join webhook_health h on h.company_id = w.company_id and h.webhook_id = w.id
      where w.company_id = $1 and w.enabled and w.deleted_at is null and h.failing_since >= w.watched_since
        and h.failing_since < now() - interval '${FAILING_MINUTES} minutes'`)} as integrations`,
}

/** Counts what waits, in one statement; `pool` is the primary's, as tills and webhooks are no part of the ledger. */
export async function countWaiting(pool: Pool, companyId: number, today: string): Promise<Waiting> {
  const { rows } = await pool.query<Waiting>({ ...WAITING, values: [companyId, today] })
  return rows[0] as Waiting
}

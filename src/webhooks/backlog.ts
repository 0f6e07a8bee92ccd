import type { Pool } from 'pg'
import { WAITING_ADDRESSES } from './waiting-addresses.ts'

/** Deliveries that are still to be made, of all companies. */
export interface Backlog {
  /** Counted up to MOST_COUNTED. */
  readonly pending: number
  /** How long ago the one that has waited longest was due; 0 when none is. */
  readonly oldest_due_seconds: number
}

/** More than this is much, however much it is: counting must not cost more than delivering. */
const MOST_COUNTED = 100_000
/** Figures that are asked for again within this are the same. */
const FRESH_MS = 5_000

/** Reads the backlog, not more often than is worth it. `now_ms` is any clock that never goes back. */
export function createBacklog(pool: Pool, now_ms: () => number): () => Promise<Backlog> {
  let asked_ms = Number.NEGATIVE_INFINITY
  let found: Promise<Backlog> | undefined
  return () => {
    if (!found || now_ms() - asked_ms > FRESH_MS) {
      asked_ms = now_ms()
      found = readBacklog(pool)
    }
    return found
  }
}

async function readBacklog(pool: Pool): Promise<Backlog> {
  const { rows } = await pool.query<Backlog>(READ_BACKLOG)
  return rows[0] as Backlog
}

const READ_BACKLOG = {
  name: 'read_delivery_backlog',
  text: `
with recursive ${WAITING_ADDRESSES}
select
  (select count(*)::int from (
    select from webhook_deliveries where status = 'pending' limit ${MOST_COUNTED}) as counted) as pending,
  (select greatest(0, coalesce(extract(epoch from clock_timestamp() - min(a.next_attempt_at)), 0))::float8
   from address a join webhooks w on w.company_id = a.company_id and w.id = a.webhook_id and w.enabled) as oldest_due_seconds`,
}

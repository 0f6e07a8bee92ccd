import { setTimeout as delay } from 'node:timers/promises'
import type { ClientBase } from 'pg'

/**
 * Longest wait of one attempt for a lock. Later sessions queue behind the attempt, even readers: without this limit
 * they would wait as long as the slowest earlier reader (OPS-36).
 */
export const LOCK_TIMEOUT_MS = 50

const PAUSE_MIN_MS = 250
const PAUSE_MAX_MS = 15_000

/** lock_not_available, deadlock_detected, query_canceled (time-out) */
const IN_THE_WAY = ['55P03', '40P01', '57014']

/** Whether a statement failed because other sessions hold a lock that it needs. */
export const isLockConflict = (error: unknown): boolean =>
  IN_THE_WAY.includes(String((error as { code?: unknown } | null)?.code ?? ''))

interface Patient {
  /** Connection to find the blocking sessions. */
  readonly client: ClientBase
  /** What is waited for, for the operator. */
  readonly what: string
  readonly tell: (line: string) => void
}

/**
 * Retries `attempt` until no lock conflict prevents it, without a time limit. Attempts are short, and pauses grow to 15
 * seconds; after each failure the blocking sessions are reported. `attempt` must leave no transaction open.
 */
export async function retryOnLockTimeout<T>({ client, what, tell }: Patient, attempt: () => Promise<T>): Promise<T> {
  for (let pause_ms = PAUSE_MIN_MS; ; pause_ms = Math.min(pause_ms * 2, PAUSE_MAX_MS)) {
    try {
      return await attempt()
    } catch (error) {
      if (!isLockConflict(error)) throw error
    }
    tell(`${what} waits for ${await sessionsInTheWay(client)}`)
    await delay(pause_ms)
  }
}

/** Sessions with older locks on the service's tables, the oldest first. */
async function sessionsInTheWay(client: ClientBase): Promise<string> {
  const { rows } = await client.query<{ pid: number; name: string; what: string }>(
    `select a.pid, coalesce(nullif(a.application_name, ''), 'without a name') as name,
       coalesce(a.state || to_char(a.query_start at time zone 'UTC', '", query of "YYYY-MM-DD"T"HH24:MI:SS"Z"'),
         'of role ' || a.usename) as what
     from pg_stat_activity a
     where a.datname = current_database() and a.pid <> pg_backend_pid()
       -- Of sessions of other roles it is not told.
       and coalesce(a.xact_start < clock_timestamp() - make_interval(secs => $1::float8 / 1000), a.usename <> current_user)
       and exists (
         select from pg_locks l join pg_class c on c.oid = l.relation join pg_namespace n on n.oid = c.relnamespace
         where l.pid = a.pid and l.granted and n.nspname ~ '^(ops|ledger|read)')
     order by a.xact_start limit 3`,
    [LOCK_TIMEOUT_MS],
  )
  if (rows.length === 0) return 'short transactions that come one after the other'
  return rows.map(({ pid, name, what }) => `process ${pid} (${name}, ${what})`).join(', ')
}

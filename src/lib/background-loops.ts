import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import type { Pool, QueryResultRow } from 'pg'

/** Waits; ends early, without an error, when the signal aborts. */
export const rest = (rest_ms: number, signal?: AbortSignal): Promise<void> =>
  delay(rest_ms, undefined, { signal }).catch(() => {})

const WAIT_MIN_MS = 250
const WAIT_MAX_MS = 15_000

/**
 * Repeats `work` with growing pauses until it reports that it is done or the signal aborts. Progress resets the pause.
 * An error caused by the abort is ignored.
 */
export async function retry(
  signal: AbortSignal,
  work: (onProgress: () => void) => Promise<'done' | 'again'>,
  onError: (error: unknown) => void,
): Promise<void> {
  let wait_ms = WAIT_MIN_MS
  const onProgress = () => {
    wait_ms = WAIT_MIN_MS
  }
  while (!signal.aborted) {
    try {
      if ((await work(onProgress)) === 'done') return
    } catch (error) {
      if (!signal.aborted) onError(error)
    }
    await rest(wait_ms, signal)
    wait_ms = Math.min(wait_ms * 2, WAIT_MAX_MS)
  }
}

/** The forms of RFC 9110 5.6.7: IMF-fixdate, RFC 850, asctime. All begin with the day of the week. */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [\w: -]+$/i

/**
 * Milliseconds that a Retry-After header asks to wait, in seconds or until a date: at least 0, of any size. Null if it is
 * absent or in no known form. `now` in Unix ms.
 */
export function parseRetryAfter_ms(header: string | readonly string[] | undefined, now: number): number | null {
  const text = (typeof header === 'string' ? header : header?.[0])?.trim() ?? ''
  if (/^\d+$/.test(text)) return Number(text) * 1000
  if (!HTTP_DATE.test(text)) return null
  const until = Date.parse(/\bGMT$/i.test(text) ? text : `${text} GMT`)
  return Number.isNaN(until) ? null : Math.max(0, until - now)
}

/**
 * Called between portions of work with the duration of the last one in ms. Delays the next one, or rejects to end the
 * work.
 */
export type WorkPace = (spent_ms: number) => Promise<void>

/** Rests of background work as a multiple of its working time: it leaves three quarters of the time to requests. */
export const RESTS = 3

/** Works a quarter of the time. */
export const createSlowPace =
  (signal?: AbortSignal): WorkPace =>
  (spent_ms) =>
    rest(spent_ms * RESTS, signal)

/** Runs a portion of work, waits for the pace, and returns the result. */
export async function runPaced<T>(pace: WorkPace | undefined, portion: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  const done = await portion()
  await pace?.(performance.now() - startedAt)
  return done
}

export interface OnDemand {
  /** Requests a run; requests during a run share one more. */
  ask(): void
  /** Resolves when all requested runs are done. */
  idle(): Promise<void>
}

/** Rest after each run, so that requests meanwhile share the next one; it ends early when the signal aborts. */
export interface Rest {
  readonly rest_ms: number
  readonly signal: AbortSignal
}

/**
 * Coalesces requests: those of one event-loop turn share a run of `work`, those during a run or its rest share the next,
 * and runs never overlap. `work` handles its own errors.
 */
export function coalesce(work: () => Promise<unknown>, resting?: Rest): OnDemand {
  let asked = false
  let running: Promise<void> | null = null

  async function run(): Promise<void> {
    await nextTurn()
    while (asked) {
      asked = false
      await work()
      if (resting) await rest(resting.rest_ms, resting.signal)
    }
    running = null
  }

  return {
    ask() {
      asked = true
      running ??= run()
    },
    idle: () => running ?? Promise.resolve(),
  }
}

const isAbort = (error: unknown, { aborted }: AbortSignal): boolean =>
  aborted && (error as { name?: unknown } | null)?.name === 'AbortError'

export interface Repetition {
  /** Runs at once; during a run, once more after it. */
  now(): void
  /** Aborts the signal of the run under way, and resolves when that has ended. */
  stop(): Promise<void>
}

/**
 * Runs `work` now, then again `every_ms` after each run has ended, failed or not. A function is asked for the pause
 * each time. However often it is asked to run at once, it rests `rest_ms` after each run. The signal aborts on `stop`; an
 * error caused by the abort is ignored.
 */
export function repeat(
  work: (stopping: AbortSignal) => Promise<unknown>,
  every_ms: number | (() => number),
  onError: (error: unknown) => void,
  rest_ms = 0,
): Repetition {
  const stopping = new AbortController()
  const { signal } = stopping
  let timer: NodeJS.Timeout | undefined
  const round = async () => {
    clearTimeout(timer)
    if (signal.aborted) return
    await work(signal).catch((error: unknown) => {
      if (!isAbort(error, signal)) onError(error)
    })
    if (!signal.aborted) timer = setTimeout(rounds.ask, typeof every_ms === 'number' ? every_ms : every_ms())
  }
  const rounds = coalesce(round, rest_ms > 0 ? { rest_ms, signal } : undefined)
  rounds.ask()
  return {
    now: rounds.ask,
    stop() {
      stopping.abort()
      clearTimeout(timer)
      return rounds.idle()
    },
  }
}

/** Position of a round robin over companies. It lives as long as its loop, so that a run that ends early goes on where it was. */
export interface RoundRobin {
  /**
   * Runs a statement that takes work of companies in `roundRobinOrder`; the position is its last parameter. The next one
   * begins after the companies that it has taken.
   */
  take<Row extends QueryResultRow & { readonly company_id: number }>(
    pool: Pick<Pool, 'query'>,
    statement: { readonly name: string; readonly text: string },
    values: readonly unknown[],
  ): Promise<Row[]>
}

export function createRoundRobin(): RoundRobin {
  /** Id of the company that was served last; 0 before the first. */
  let after = 0
  return {
    async take<Row extends QueryResultRow & { readonly company_id: number }>(
      ...[pool, statement, values]: Parameters<RoundRobin['take']>
    ) {
      const { rows } = await pool.query<Row>({ ...statement, values: [...values, after] })
      const served = rows.map(({ company_id }) => company_id)
      const wrapped = served.filter((id) => id <= after)
      const last = Math.max(...(wrapped.length > 0 ? wrapped : served))
      if (Number.isFinite(last)) after = last
      return rows
    },
  }
}

/** ORDER BY terms: companies by id, beginning after the position of a round robin, which is a parameter of the statement. */
export const roundRobinOrder = (companyId: string, after: string): string =>
  `${companyId} <= ${after}::bigint, ${companyId}`

export interface InTurnOptions<Tenant = number> {
  readonly stopping?: AbortSignal
  /** A failure ends the tenant's work in this run; the others go on. */
  readonly onError: (error: unknown, tenant: Tenant) => void
  /** Slices of a tenant in one run: beyond it the run ends, and the next one finds those that have work by then. */
  readonly slices?: number
}

/**
 * Works for each tenant (usually the id of a company) in turn, one bounded slice at a time: one with much to do delays
 * the others by its slices only, and one that fails delays none. After a slice that leaves more it rests, so that a
 * long backlog takes a quarter of the time.
 */
export async function workInTurn<Tenant>(
  tenants: Iterable<Tenant>,
  slice: (tenant: Tenant) => Promise<'more' | 'done'>,
  { stopping, onError, slices = 1_000 }: InTurnOptions<Tenant>,
): Promise<void> {
  const pace = createSlowPace(stopping)
  let waiting = [...tenants]
  for (let round = 0; round < slices && waiting.length > 0; round++) {
    const more: Tenant[] = []
    for (const tenant of waiting) {
      if (stopping?.aborted) return
      try {
        const startedAt = performance.now()
        if ((await slice(tenant)) === 'done') continue
        more.push(tenant)
        await pace(performance.now() - startedAt)
      } catch (error) {
        onError(error, tenant)
      }
    }
    waiting = more
  }
}

/** How long the rows of a table are kept. */
export interface RetentionRule {
  readonly table: string
  /** Column, or indexed expression of columns, whose time decides. */
  readonly olderThan: string
  readonly keep: `${number} ${'hours' | 'days'}`
  /** SQL condition on the rows that may be deleted; all of them by default. */
  readonly where?: string
}

/** For what is more than a deletion by age: removes up to `limit` rows and returns their number. */
export type PurgeStep = (pool: Pool, limit: number) => Promise<number>

/** Rows per statement. Bounds locks and disk load of a purge. */
const BATCH = 5_000

/** `now()`, because a comparison with `clock_timestamp()` cannot use an index. A locked row is a current row. */
const deleteExpired = ({ table, olderThan, keep, where = 'true' }: RetentionRule): string =>
  `delete from ${table} where ctid = any (array(
     select ctid from ${table}
     where ${olderThan} < now() - interval '${keep}' and ${where}
     limit $1 for update skip locked))`

/**
 * Deletes what is past its retention, a batch of each rule in turn: one that fails, or has much to delete, delays no
 * other. Returns the number of deleted rows. Any number of processes may purge concurrently.
 */
export async function purge(
  pool: Pool,
  rules: readonly (RetentionRule | PurgeStep)[],
  options: Pick<InTurnOptions<unknown>, 'stopping' | 'onError'>,
): Promise<number> {
  let deleted = 0
  await workInTurn(
    rules,
    async (rule) => {
      const count =
        typeof rule === 'function'
          ? await rule(pool, BATCH)
          : ((await pool.query(deleteExpired(rule), [BATCH])).rowCount ?? 0)
      deleted += count
      return count > 0 ? 'more' : 'done'
    },
    options,
  )
  return deleted
}

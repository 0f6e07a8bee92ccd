import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from 'pg'
import { recordsEvents } from '#background/records-events.ts'
import { type Repetition, repeat } from '#background/repeat.ts'
import type { RowDifference } from '#ledger/rebuild/compare-tables.ts'
import type { TablesVerification, VerifyTablesOptions } from '#ledger/rebuild/verify-tables.ts'
import type { Queryable } from '#postgres/database.ts'

/** Dependencies for comparing a company's tables with its ledger (src/service/core.ts). */
export interface TablesCore {
  readonly pool: Pool
  verifyTables(
    companyId: number,
    options?: Pick<VerifyTablesOptions, 'pace' | 'yields' | 'onApplied'>,
  ): Promise<TablesVerification>
}

/** The last comparison of a company. */
export interface TableCheck {
  readonly checked_at: string
  readonly revision: number
  readonly differences: readonly RowDifference[]
}

/** Hours between comparisons of a company, so that each has one within a day. */
const EVERY_HOURS = 20
/** Shorter if rows differ: the operator may have rebuilt the tables, or needs a reminder. */
const AGAIN_HOURS = 1

/** Compares a company's tables with its ledger and records the result for metrics and panel. */
export async function checkTables(
  core: TablesCore,
  companyId: number,
  options?: Parameters<TablesCore['verifyTables']>[1],
): Promise<TablesVerification> {
  const found = await core.verifyTables(companyId, options)
  if (found.kind !== 'verified') return found
  const { revision, differences } = found
  const isEqual = differences.length === 0
  await core.pool.query({
    ...NOTE,
    values: [companyId, revision, JSON.stringify(differences), isEqual, isEqual ? EVERY_HOURS : AGAIN_HOURS],
  })
  return found
}

const NOTE = {
  name: 'note_table_check',
  text: `insert into table_checks (company_id, revision, differences, is_equal, checked_at, due_at)
         values ($1, $2, $3, $4, clock_timestamp(), clock_timestamp() + make_interval(hours => $5))
         on conflict (company_id) do update set revision = excluded.revision, differences = excluded.differences,
           is_equal = excluded.is_equal, checked_at = excluded.checked_at, due_at = excluded.due_at`,
}

/** The last comparison of a company; null before the first. */
export async function findTableCheck(pool: Queryable, companyId: number): Promise<TableCheck | null> {
  const { rows } = await pool.query<TableCheck>({
    name: 'find_table_check',
    text: `select checked_at, revision, differences from ops.table_checks where company_id = $1 and checked_at is not null`,
    values: [companyId],
  })
  return rows[0] ?? null
}

/** Metrics of the comparisons of all companies. */
export interface TableCheckFigures {
  /** Companies with differing rows in their last comparison. */
  readonly unequal: number
  /** Age of the most overdue comparison; 0 if none is due. */
  readonly overdue_seconds: number
}

export async function tableCheckFigures(pool: Pool): Promise<TableCheckFigures> {
  const { rows } = await pool.query<TableCheckFigures>({
    name: 'read_table_check_figures',
    text: `select (select count(*) from ops.table_checks where not is_equal) as unequal,
             greatest(0, coalesce(extract(epoch from clock_timestamp() - min(due_at)), 0))::float8 as overdue_seconds
           from ops.table_checks where ${recordsEvents('company_id')}`,
  })
  return rows[0] as TableCheckFigures
}

interface ScheduleOptions {
  /** Whether the read model lags behind its ledgers; comparisons wait meanwhile. */
  readonly isBehind: () => boolean
  readonly onDifferent: (companyId: number, revision: number, differences: readonly RowDifference[]) => void
  readonly onError: (error: unknown) => void
  /** Pause after a slice that took `spent_ms`. */
  readonly rest_ms?: (spent_ms: number) => number
}

/** Interval between searches for due companies. */
const ROUND_MS = 60_000
/** Pause in multiples of the work time: comparisons use a fifth of the time, so that other work comes first. */
const RESTS = 4
/** Poll interval while the read model is behind. */
const BEHIND_MS = 1_000

/**
 * Compares the tables of each company with its ledger within a day, one company at a time over all processes, at low
 * load. A failure for one company does not stop the others.
 */
export function checkTablesOnSchedule(core: TablesCore, options: ScheduleOptions): Repetition {
  const { isBehind, onDifferent, onError, rest_ms = (spent) => spent * RESTS } = options
  const round = async (signal: AbortSignal): Promise<void> => {
    const pace = async (spent_ms: number): Promise<void> => {
      await delay(rest_ms(spent_ms), undefined, { signal })
      while (isBehind()) await delay(BEHIND_MS, undefined, { signal })
    }
    await core.pool.query(NOTE_NEW)
    for (;;) {
      if (signal.aborted || isBehind()) return
      const companyId = await nextDue(core.pool)
      if (companyId === null) return
      try {
        const found = await checkTables(core, companyId, { pace, yields: true })
        // Another process compares the company, or its tables are about to change.
        if (found.kind !== 'verified') return
        if (found.differences.length > 0) onDifferent(companyId, found.revision, found.differences)
      } catch (error) {
        if (signal.aborted) return
        onError(error)
        await core.pool.query({ ...PUT_OFF, values: [companyId, AGAIN_HOURS] })
      }
    }
  }
  return repeat(round, ROUND_MS, onError)
}

async function nextDue(pool: Pool): Promise<number | null> {
  const { rows } = await pool.query<{ company_id: number }>(NEXT_DUE)
  return rows[0]?.company_id ?? null
}

const NOTE_NEW = {
  name: 'note_unchecked_companies',
  text: `insert into table_checks (company_id, due_at)
         select company_id, clock_timestamp() from ledgers l
         where not exists (select from table_checks c where c.company_id = l.company_id)
         on conflict do nothing`,
}

const NEXT_DUE = {
  name: 'next_due_table_check',
  text: `select company_id from table_checks where due_at <= now() and ${recordsEvents('company_id')} order by due_at limit 1`,
}

const PUT_OFF = {
  name: 'put_table_check_off',
  text: 'update table_checks set due_at = clock_timestamp() + make_interval(hours => $2) where company_id = $1',
}

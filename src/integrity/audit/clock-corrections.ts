import type { Pool } from 'pg'
import type { ClockCorrection } from '#projections/companies.ts'

/** Where times of a ledger went back (LEDGER-20), oldest first. */
export async function correctionsOf(pool: Pool, companyId: number): Promise<readonly ClockCorrection[]> {
  const { rows } = await pool.query<{ clock_corrections: ClockCorrection[] }>({
    name: 'clock_corrections',
    text: 'select clock_corrections from companies where company_id = $1',
    values: [companyId],
  })
  return rows[0]?.clock_corrections ?? []
}

/**
 * The revision from which on a ledger's times tell whether an event was before `time` or after it: that of the last correction
 * of the clock by then. What was recorded before it was before `time`, whatever it says of itself.
 */
export const tellingFrom = (corrections: readonly ClockCorrection[], time: string): number =>
  corrections.findLast(({ recorded_at }) => recorded_at <= time)?.revision ?? 0

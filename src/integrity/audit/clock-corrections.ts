import type { ClockCorrection } from '#projections/companies.ts'
import type { Reader } from '#queries/reader.ts'
import { t } from '#queries/table-names.ts'

/** Events at which a ledger's time went back (LEDGER-20), oldest first. */
export async function correctionsOf(reader: Reader): Promise<readonly ClockCorrection[]> {
  const { rows } = await reader.query<{ clock_corrections: ClockCorrection[] }>({
    name: 'clock_corrections',
    text: `select clock_corrections from ${t.companies} where company_id = $1`,
  })
  return rows[0]?.clock_corrections ?? []
}

/**
 * Revision of the last clock correction recorded up to `time`. From it on, recorded times decide whether an event was
 * before `time`; every earlier event counts as before, whatever its recorded time.
 */
export const tellingFrom = (corrections: readonly ClockCorrection[], time: string): number =>
  corrections.findLast(({ recorded_at }) => recorded_at <= time)?.revision ?? 0

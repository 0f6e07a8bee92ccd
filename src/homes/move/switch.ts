import type { Pool } from 'pg'
import { companyText, DIRECTORY_CHANNEL } from '../directory.ts'

/** Where a company lives by the directory, and since when: the text that a change of it has to name. */
export interface Residence {
  readonly home: string
  readonly since: string
}

export async function residenceOf(main: Pool, companyId: number): Promise<Residence | null> {
  const { rows } = await main.query<Residence>(
    'select home, since::text as since from ops.company_homes where company_id = $1',
    [companyId],
  )
  return rows[0] ?? null
}

/**
 * The switch: the company lives in `home` from now on, and every process hears of it (HOME-55). False where the directory was told
 * something else since `known` was read: whoever opened the company again has seen to that, so that it is never open twice.
 */
export async function switchTo(main: Pool, companyId: number, known: Residence, home: string): Promise<boolean> {
  const { rowCount } = await main.query(
    `with moved as (
       update ops.company_homes set home = $4, since = clock_timestamp()
       where company_id = $1 and home = $2 and since = $3::timestamptz returning company_id)
     select pg_notify($5, $6) from moved`,
    [companyId, known.home, known.since, home, DIRECTORY_CHANNEL, companyText(companyId)],
  )
  return rowCount === 1
}

/** Makes sure that a switch which is under way, or whose outcome nobody knows, does not happen any more. Where the company lives now. */
export async function retractSwitch(main: Pool, companyId: number): Promise<Residence | null> {
  const known = await residenceOf(main, companyId)
  if (known) await switchTo(main, companyId, known, known.home)
  return residenceOf(main, companyId)
}

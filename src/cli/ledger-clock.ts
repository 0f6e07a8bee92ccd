import { correctClock } from '#commands/companies.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { Core } from '#service/core.ts'
import { accepted, companyIdFrom, type Verbs } from './verb.ts'

/** Tables of what is due, or kept for a while: when a row was made, and when it is due, where it is. */
const DUE = [
  { table: 'webhook_deliveries', made: 'created_at', due: 'next_attempt_at' },
  { table: 'webhook_messages', made: 'created_at', due: null },
  { table: 'notices', made: 'created_at', due: 'next_email_at' },
  { table: 'idempotent_answers', made: 'created_at', due: null },
  { table: 'webhook_secrets', made: null, due: 'switch_at' },
] as const

/** Nothing is made later than now, and nothing put off for longer than a week, the longest retry there may be. */
const MADE_AHEAD = (column: string) => `${column} > clock_timestamp() + interval '1 minute'`
const DUE_AHEAD = (column: string) => `${column} > clock_timestamp() + interval '8 days'`

/** Brings what was made or put off by a clock that ran ahead back to now. Returns how many rows. */
async function bringBack({ pool }: Core, companyId: number): Promise<number> {
  let rows = 0
  for (const { table, made, due } of DUE) {
    const isAhead = [...(made ? [MADE_AHEAD(made)] : []), ...(due ? [DUE_AHEAD(due)] : [])].join(' or ')
    const columns = [made, due].filter((column) => column !== null)
    const sets = columns.map(
      (column) => `${column} = case when ${column} > clock_timestamp() then clock_timestamp() else ${column} end`,
    )
    const { rowCount } = await pool.query(
      `update ops.${table} set ${sets.join(', ')} where company_id = $1 and (${isAhead})`,
      [companyId],
    )
    rows += rowCount ?? 0
  }
  return rows
}

export const verbs: Verbs<'ledger correct-clock'> = {
  'ledger correct-clock': {
    async run(context, { company }) {
      const { core, companyId } = await companyIdFrom(context, company)
      // Before the correction, so that a command which was interrupted can be repeated.
      const brought_back = await bringBack(core, companyId)
      accepted(await runAsSystem(core.writer, companyId, correctClock, {}))
      const { rows } = await core.pool.query<{ revision: number; last_recorded_at: string }>(
        'select revision, last_recorded_at from ledgers where company_id = $1',
        [companyId],
      )
      return { company_id: companyId, ...rows[0], brought_back }
    },
  },
}

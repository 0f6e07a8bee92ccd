import { correctClock } from '#commands/companies.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { Core } from '#service/core.ts'
import { accepted, companyIdFrom, type Verbs } from './verb.ts'

/** Tables with due or expiring rows: columns of creation and due time, if present. */
const DUE = [
  { table: 'webhook_deliveries', made: 'created_at', due: 'next_attempt_at' },
  { table: 'webhook_messages', made: 'created_at', due: null },
  { table: 'notices', made: 'created_at', due: 'next_email_at' },
  { table: 'idempotent_answers', made: 'created_at', due: null },
  { table: 'webhook_secrets', made: null, due: 'switch_at' },
] as const

/** Creation times cannot be in the future; due times are at most a week ahead, the longest retry delay. */
const isCreatedAhead = (column: string) => `${column} > clock_timestamp() + interval '1 minute'`
const isDueAhead = (column: string) => `${column} > clock_timestamp() + interval '8 days'`

/** Resets times that a fast clock set in the future. Returns the number of rows. */
async function resetFutureTimes({ pool }: Core, companyId: number): Promise<number> {
  let rows = 0
  for (const { table, made, due } of DUE) {
    const isAhead = [...(made ? [isCreatedAhead(made)] : []), ...(due ? [isDueAhead(due)] : [])].join(' or ')
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
      // Runs before the correction, so that an interrupted command can be repeated.
      const brought_back = await resetFutureTimes(core, companyId)
      accepted(await runAsSystem(core.writer, companyId, correctClock, {}))
      const { rows } = await core.pool.query<{ revision: number; last_recorded_at: string }>(
        'select revision, last_recorded_at from ledgers where company_id = $1',
        [companyId],
      )
      return { company_id: companyId, ...rows[0], brought_back }
    },
  },
}

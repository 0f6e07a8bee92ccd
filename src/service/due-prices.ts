import type { Pool } from 'pg'
import { applyScheduledPrices } from '#commands/price-commands.ts'
import { isRefusal } from '#ledger/command.ts'
import { isRecordingCompany } from '#ledger/ledgers.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { type Repetition, repeat, workInTurn } from '#lib/background-loops.ts'
import { companysTimeSql } from '#projections/companies.ts'

interface DuePrices {
  readonly pool: Pool
  readonly writer: Writer
  readonly onError: (error: unknown) => void
}

/** Companies and changes of a run; the next one takes the others. */
const MOST = 500

/** The command decides exactly. The clock of a test company may be ahead. */
const DUE = {
  name: 'price_changes_due',
  text: `select p.company_id, array_agg(p.id order by p.starts_at, p.id) as ids
         from (
           select p.company_id, p.id, p.starts_at from price_changes p join companies c on c.company_id = p.company_id
           where p.status = 'scheduled' and (p.starts_at <= now() or c.clock_ahead_ms > 0 and p.starts_at <= ${companysTimeSql('now()')})
             and ${isRecordingCompany('p.company_id')}
           order by p.starts_at, p.company_id, p.id limit ${MOST}) p
         group by p.company_id`,
}

/**
 * Applies scheduled prices that have fallen due, one act per company in turn, earliest first. Failures are retried in
 * the next run. Any number of processes may run it at once: the command applies an act once.
 */
export async function applyDuePrices({ pool, writer, onError }: DuePrices, stopping?: AbortSignal): Promise<void> {
  const { rows } = await pool.query<{ company_id: number; ids: number[] }>(DUE)
  const waiting = new Map(rows.map(({ company_id, ids }) => [company_id, [...ids]]))
  const slice = async (companyId: number): Promise<'more' | 'done'> => {
    const ids = waiting.get(companyId) as number[]
    const id = ids.shift()
    if (id === undefined) return 'done'
    const answer = await runAsSystem(writer, companyId, applyScheduledPrices, { id })
    if (answer && isRefusal(answer)) throw new Error(`price change ${id} of company ${companyId}: ${answer.refused}`)
    return ids.length > 0 ? 'more' : 'done'
  }
  await workInTurn(waiting.keys(), slice, { onError, ...(stopping && { stopping }) })
}

/** Scheduled prices are late by at most this. */
const EVERY_MS = 15_000

export const applyDuePricesOnSchedule = (due: DuePrices): Repetition =>
  repeat((stopping) => applyDuePrices(due, stopping), EVERY_MS, due.onError)

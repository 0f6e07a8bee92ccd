import { tellTail } from '#commands/till-commands.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { type Repetition, repeat } from '#lib/background-loops.ts'
import type { Queryable } from '#postgres/database.ts'
import { companysTimeSql } from '#projections/companies.ts'

const EVERY_MS = 60_000

/** Tails told in one round; the rest follows in the next one. */
const MOST = 500

/** Numbers that a till named a day ago by the company's clock, and that have neither come nor been told. */
const OLD_TAILS = {
  name: 'old_tails_of_tills',
  text: `select a.company_id, a.till_id, a.last_number
         from ops.till_contacts a
         join tills t on t.company_id = a.company_id and t.id = a.till_id
         join companies c on c.company_id = a.company_id
         where a.tail_since <= ${companysTimeSql('clock_timestamp()')} - interval '24 hours' and a.last_number > t.told_to
         order by a.tail_since limit ${MOST}`,
}

interface Telling {
  readonly pool: Queryable
  readonly writer: Writer
  onError(error: unknown): void
}

/** Tells the tails of tills that are a day old, each once. */
export async function tellOldTails({ pool, writer, onError }: Telling, stopping?: AbortSignal): Promise<void> {
  const { rows } = await pool.query<{ company_id: number; till_id: number; last_number: number }>(OLD_TAILS)
  for (const { company_id, till_id: id, last_number: last } of rows) {
    if (stopping?.aborted) return
    await runAsSystem(writer, company_id, tellTail, { id, last }).catch(onError)
  }
}

export const tellTailsOnSchedule = (telling: Telling): Repetition =>
  repeat((stopping) => tellOldTails(telling, stopping), EVERY_MS, telling.onError)

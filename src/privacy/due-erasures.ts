import type { Pool } from 'pg'
import { recordsEvents } from '#background/records-events.ts'
import { type Repetition, repeat } from '#background/repeat.ts'
import { workInTurn } from '#background/round-robin.ts'
import { forgetDue } from '#commands/people/forget-person.ts'
import { PERSON_KINDS, type PersonKind } from '#domain/personal-data.ts'
import { isRefusal } from '#ledger/command.ts'
import { parseSubject } from '#ledger/projection.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { companysTimeSql } from '#projections/companies.ts'

interface Due {
  readonly due_on: string
  readonly subject: string
}

export interface DueErasures {
  readonly pool: Pool
  readonly writer: Writer
  /** Years after its authorization for which a fiscal document must keep personal data. */
  readonly retentionYears: number
  readonly onError: (error: unknown) => void
}

/** Persons of a company read at once, and erased before the next company's turn. */
const [PAGE, SLICE] = [500, 25]

/** The company's day plus one; the command decides exactly. The clock of a test company may be ahead. */
const DAY = `case when c.clock_ahead_ms > 0 then (${companysTimeSql('now()')})::date else current_date end + 1`

/** Companies with erasures that may be due, or with contacts that were kept for open accounts. */
const COMPANIES_DUE = {
  name: 'companies_with_forgettings_due',
  text: `select distinct f.company_id from forgettings f join companies c on c.company_id = f.company_id
         where f.due_on is not null
           and (f.due_on <= current_date + 1 or f.keeps_contact or c.clock_ahead_ms > 0 and f.due_on <= ${DAY})
           and ${recordsEvents('f.company_id')}
         order by f.company_id`,
}

const DUE = {
  name: 'forgettings_due',
  text: `select f.due_on, f.subject from companies c join forgettings f on f.company_id = c.company_id
         where c.company_id = $1 and (f.due_on <= ${DAY} or f.due_on is not null and f.keeps_contact) and (f.due_on, f.subject) > ($2, $3)
         order by f.due_on, f.subject limit ${PAGE}`,
}

async function* dueOf(pool: Pool, companyId: number): AsyncGenerator<Due, undefined> {
  for (let last: Due | undefined = { due_on: '0001-01-01', subject: '' }; last; ) {
    const { rows }: { rows: Due[] } = await pool.query<Due>({ ...DUE, values: [companyId, last.due_on, last.subject] })
    yield* rows
    last = rows.length < PAGE ? undefined : rows.at(-1)
  }
}

/**
 * Erases due persons, a slice per company in turn, earliest first. Failures are retried in the next run; some persons
 * are postponed because of receivables or payables without a date. Any number of processes may run it at once.
 */
export async function eraseDuePersons(
  { pool, writer, retentionYears, onError }: DueErasures,
  stopping?: AbortSignal,
): Promise<void> {
  const { rows } = await pool.query<{ company_id: number }>(COMPANIES_DUE)
  const waiting = new Map(rows.map(({ company_id }) => [company_id, dueOf(pool, company_id)]))
  const slice = async (companyId: number): Promise<'more' | 'done'> => {
    const persons = waiting.get(companyId) as AsyncGenerator<Due>
    for (let count = 0; count < SLICE; count++) {
      const { done, value: due } = await persons.next()
      if (done) return 'done'
      await forget(companyId, due).catch(onError)
    }
    return 'more'
  }
  await workInTurn(waiting.keys(), slice, { onError, ...(stopping && { stopping }) })

  async function forget(companyId: number, { subject }: Due): Promise<void> {
    const { type, id } = parseSubject(subject)
    if (!isPersonKind(type)) return
    const answer = await runAsSystem(writer, companyId, forgetDue, { kind: type, id, retention_years: retentionYears })
    if (answer && isRefusal(answer)) throw new Error(`${subject} of company ${companyId}: ${answer.refused}`)
  }
}

const isPersonKind = (kind: string): kind is PersonKind => (PERSON_KINDS as readonly string[]).includes(kind)

const HOUR_MS = 3_600_000

/** Runs at once and then hourly, because the day begins at different times in different time zones. */
export const scheduleDueErasures = (due: DueErasures): Repetition =>
  repeat((stopping) => eraseDuePersons(due, stopping), HOUR_MS, due.onError)

import type { Pool } from 'pg'
import { forgetDue } from '#commands/people/forget-person.ts'
import { PERSON_KINDS, type PersonKind } from '#domain/personal-data.ts'
import { isRefusal } from '#ledger/command.ts'
import { parseSubject } from '#ledger/projection.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { repeat } from '#lib/repeat.ts'
import { notInMove } from '#postgres/in-move.ts'
import { companysTimeSql } from '#projections/companies.ts'

interface Due {
  readonly due_on: string
  readonly company_id: number
  readonly subject: string
}

export interface ForgettingDue {
  readonly pool: Pool
  readonly writer: Writer
  /** Years after its authorization for which a fiscal document needs a person. */
  readonly retentionYears: number
  readonly onError: (error: unknown) => void
}

const PAGE = 100

/** Somewhere it is tomorrow already; the command looks at the company's own day. */
const DUE = {
  name: 'forgettings_due',
  text: `select due_on, company_id, subject from forgettings
         where due_on is not null and due_on <= current_date + 1 and ${notInMove('company_id')}
           and (due_on, company_id, subject) > ($1, $2, $3)
         order by due_on, company_id, subject limit ${PAGE}`,
}

/** Of test companies whose clock was moved it is later still. */
const SOONER = {
  name: 'forgettings_due_sooner',
  text: `select f.due_on, f.company_id, f.subject from companies c join forgettings f on f.company_id = c.company_id
         where c.clock_ahead_ms > 0 and ${notInMove('f.company_id')}
           and f.due_on > current_date + 1 and f.due_on <= (${companysTimeSql('now()')})::date + 1
           and (f.due_on, f.company_id, f.subject) > ($1, $2, $3)
         order by f.due_on, f.company_id, f.subject limit ${PAGE}`,
}

/** Those whose day has come, the earliest first. Some wait longer, for accounts without a date, and must not stand in the way. */
async function* dueOnes(pool: Pool, statement: typeof DUE): AsyncGenerator<Due> {
  let last: Due = { due_on: '0001-01-01', company_id: 0, subject: '' }
  for (;;) {
    const { rows } = await pool.query<Due>({ ...statement, values: [last.due_on, last.company_id, last.subject] })
    yield* rows
    const end = rows.at(-1)
    if (!end || rows.length < PAGE) return
    last = end
  }
}

/** Forgets whoever is due; what fails for one is tried again next time and keeps nobody else waiting. Any number of processes may do it at once. */
export async function forgetWhoIsDue({ pool, writer, retentionYears, onError }: ForgettingDue): Promise<void> {
  for (const statement of [DUE, SOONER]) for await (const due of dueOnes(pool, statement)) await forget(due)

  async function forget({ company_id, subject }: Due): Promise<void> {
    const { type, id } = parseSubject(subject)
    if (!isPersonKind(type)) return
    try {
      const input = { kind: type, id, retention_years: retentionYears }
      const answer = await runAsSystem(writer, company_id, forgetDue, input)
      if (answer && isRefusal(answer)) throw new Error(`${subject} of company ${company_id}: ${answer.refused}`)
    } catch (error) {
      onError(error)
    }
  }
}

const isPersonKind = (kind: string): kind is PersonKind => (PERSON_KINDS as readonly string[]).includes(kind)

const HOUR_MS = 3_600_000

/** Does it now, and every hour: days begin at other times in other zones. */
export const forgetOnTheDay = (due: ForgettingDue): { stop(): Promise<void> } =>
  repeat(() => forgetWhoIsDue(due), HOUR_MS, due.onError)

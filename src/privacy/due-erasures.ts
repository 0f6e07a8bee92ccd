import type { Pool } from 'pg'
import { forgetDue, type Holding, holdingStatement } from '#commands/forget-person.ts'
import { PERSON_KINDS, type PersonKind, type PersonPart } from '#domain/person-values.ts'
import type { DataOf } from '#events/catalogue.ts'
import { type Envelope, isRefusal } from '#ledger/command.ts'
import { parseSubject, type Reactor } from '#ledger/projection.ts'
import { destroyKeys, personKeyRefs } from '#ledger/sealed-fields.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import {
  type InTurnOptions,
  isOpen,
  type Repetition,
  recordsEvents,
  repeat,
  workInTurn,
} from '#lib/background-loops.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { companysTimeSql } from '#projections/companies.ts'
import type { Reader } from '#queries/reader.ts'
import { erasePerson, listErasedIds, loadEmails } from './erase-person.ts'

const dataOf = ({ data }: { readonly data: object }) => data as DataOf<'PersonForgotten'>

/** Destroys the keys of erased persons in every transaction that applies the event. */
export const keyDestruction: Reactor = {
  refs(_rows, event) {
    if (event.type !== 'PersonForgotten') return null
    const { subjects, parts } = dataOf(event)
    return personKeyRefs(subjects, parts)
  },
  react(rows, event, _record, { newId, now, companyId }) {
    const { subjects, parts } = dataOf(event)
    destroyKeys(rows, companyId, subjects, parts, { newId, now })
  },
}

/**
 * Longest time after an erasure in which work in progress may still write the person's data: an upload, a delivery, a
 * commit in doubt.
 */
const UNDER_WAY_MINUTES = 25

/** Interval of the search, so that each person is covered at least twice. */
export const LATE_WRITES_EVERY_MS = 600_000

/** Persons per transaction. Each one scans all short-lived data of the company. */
const SUBJECTS_AT_ONCE = 500

/** Repeats recent erasures, for data that concurrent work wrote from memory meanwhile. */
export async function eraseLateWrites(pool: Pool, options: InTurnOptions): Promise<void> {
  const { rows } = await pool.query<Lately>({ ...FIND_LATELY, values: [UNDER_WAY_MINUTES] })
  const waiting = new Map<number, Lately[]>()
  for (const { company_id } of rows) waiting.set(company_id, [])
  for (const lately of rows) waiting.get(lately.company_id)?.push(...slicesOf(lately))
  const slice = async (companyId: number): Promise<'more' | 'done'> => {
    const slices = waiting.get(companyId) as Lately[]
    const { parts, subjects } = slices.shift() as Lately
    await inTransaction(pool, (tx) => erasePerson(tx, companyId, { subjects, parts }))
    return slices.length > 0 ? 'more' : 'done'
  }
  await workInTurn(waiting.keys(), slice, options)
}

function slicesOf(lately: Lately): Lately[] {
  const slices: Lately[] = []
  for (let from = 0; from < lately.subjects.length; from += SUBJECTS_AT_ONCE)
    slices.push({ ...lately, subjects: lately.subjects.slice(from, from + SUBJECTS_AT_ONCE) })
  return slices
}

interface Lately {
  readonly company_id: number
  readonly parts: readonly PersonPart[]
  readonly subjects: readonly string[]
}

/** Groups the subjects of a company by erased parts. */
const FIND_LATELY = {
  name: 'find_lately_forgotten',
  text: `select company_id, parts, array_agg(subject) as subjects
         from (select company_id, subject, array_agg(part order by part) as parts from person_keys
               where destroyed_at > now() - make_interval(mins => $1) and ${isOpen('company_id')} group by company_id, subject) as lately
         group by company_id, parts`,
}

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
  name: 'companies_with_queued_erasures_due',
  text: `select distinct f.company_id from queued_erasures f join companies c on c.company_id = f.company_id
         where f.due_on is not null
           and (f.due_on <= current_date + 1 or f.keeps_contact or c.clock_ahead_ms > 0 and f.due_on <= ${DAY})
           and ${recordsEvents('f.company_id')}
         order by f.company_id`,
}

const DUE = {
  name: 'queued_erasures_due',
  text: `select f.due_on, f.subject from companies c join queued_erasures f on f.company_id = c.company_id
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

const forgottenBy = ({ data }: Envelope) => data as DataOf<'PersonForgotten'>

/** Erases a person from `ops` in the transaction of the event. `onForgotten` runs after the commit. */
export function createErasureReactor(onForgotten: () => void = () => {}) {
  let hasErased = false
  const reactor: Reactor = {
    refs: (_rows, { type }) => (type === 'PersonForgotten' ? [] : null),
    react() {},
    look: (tx, companyId, event) => loadEmails(tx, companyId, listErasedIds(forgottenBy(event), 'user')),
    async finish(tx, companyId, event, emails) {
      await erasePerson(tx, companyId, forgottenBy(event), emails)
      hasErased = true
    },
  }
  return {
    reactor,
    /** Must be called after each commit. */
    onCommitted() {
      if (hasErased) onForgotten()
      hasErased = false
    },
  }
}

/** What needs the person, by documents since a time (UTC). */
export async function getHolding(reader: Reader, kind: PersonKind, id: number, since: string): Promise<Holding> {
  const { rows } = await reader.query<Holding>({ ...holdingStatement(kind), values: [id, since] })
  return rows[0] as Holding
}

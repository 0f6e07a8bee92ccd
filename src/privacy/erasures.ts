import { createHash } from 'node:crypto'
import { mkdir, open, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Pool } from 'pg'
import * as z from 'zod'
import { forgetDue, forgetPerson, type Holding, holdingStatement } from '#commands/forget-person.ts'
import { PERSON_KINDS, PERSON_PARTS, type PersonKind, type PersonPart } from '#domain/person-values.ts'
import type { DataOf } from '#events/catalogue.ts'
import { type Envelope, isRefusal } from '#ledger/command.ts'
import { isOpenCompany, isRecordingCompany } from '#ledger/ledgers.ts'
import { parseSubject, type Reactor } from '#ledger/projection.ts'
import { destroyKeys, personKeyRefs } from '#ledger/sealed-fields.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { coalesce, type InTurnOptions, type Repetition, repeat, retry, workInTurn } from '#lib/background-loops.ts'
import { fsyncFolder } from '#lib/files.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { companysTimeSql } from '#projections/companies.ts'
import type { Reader } from '#queries/reader.ts'
import { erasePerson, listErasedIds, loadEmails } from './erase-person.ts'

/** A destroyed key, as a line of the file. */
const ErasedKey = z.strictObject({
  company_id: z.int().positive(),
  /** As `customer/9`. */
  subject: z.string(),
  part: z.enum(PERSON_PARTS),
  /** SHA-256, in hex, of the key's id. */
  key: z.string(),
  /** Time of destruction, UTC. */
  at: z.iso.datetime({ precision: 3 }),
})
export type ForgottenKey = z.infer<typeof ErasedKey>

/**
 * List of erased persons outside Postgres: `forgotten.jsonl` beside the checkpoints, one line per destroyed key,
 * written soon after the commit. It contains no personal data and must not be restored from a backup.
 */
export interface ErasureList {
  read(): Promise<readonly ForgottenKey[]>
  /**
   * Appends keys that are in `ops.person_keys` but not in the file. Concurrent processes may write duplicates, which
   * are harmless.
   */
  sync(): Promise<void>
  /** Schedules a sync. */
  note(): void
  /** Resolves when scheduled syncs have ended. After a failed one the next `sync` writes the missing lines. */
  idle(): Promise<void>
}

/** Covers transactions that commit after later ones. */
const OVERLAP_MINUTES = 60

const EPOCH = '1970-01-01T00:00:00.000Z'

interface ListOptions {
  readonly pool: Pool
  readonly dataDir: string
  readonly onError: (error: unknown) => void
}

export function createErasureList({ pool, dataDir, onError }: ListOptions): ErasureList {
  const path = join(dataDir, 'seals', 'forgotten.jsonl')
  let listed: Set<string> | null = null
  let since = EPOCH

  async function syncOnce(): Promise<void> {
    listed ??= new Set((await readLines(path)).map(({ key }) => key))
    const known = listed
    const { rows } = await pool.query<Destroyed>({ ...FIND_DESTROYED, values: [since, OVERLAP_MINUTES] })
    const missing = rows.map(lineOf).filter(({ key }) => !known.has(key))
    if (missing.length > 0) await append(path, missing)
    for (const { key } of missing) known.add(key)
    since = rows.at(-1)?.destroyed_at ?? since
  }
  /** Runs syncs one after the other, so that none appends the lines of another again. */
  let last: Promise<void> = Promise.resolve()
  function sync(): Promise<void> {
    last = last.catch(() => {}).then(syncOnce)
    return last
  }
  const syncing = coalesce(() => sync().catch(onError))

  return { read: () => readLines(path), sync, note: syncing.ask, idle: syncing.idle }
}

interface Destroyed extends Pick<ForgottenKey, 'company_id' | 'subject' | 'part'> {
  readonly key_id: string
  readonly destroyed_at: string
}

const FIND_DESTROYED = {
  name: 'find_destroyed_keys',
  text: `select company_id, subject, part, key_id, destroyed_at from person_keys
         where destroyed_at > $1::timestamptz - make_interval(mins => $2) order by destroyed_at`,
}

const lineOf = ({ company_id, subject, part, key_id, destroyed_at }: Destroyed): ForgottenKey => ({
  company_id,
  subject,
  part,
  key: hashOfKey(key_id),
  at: destroyed_at,
})

const hashOfKey = (keyId: string): string => createHash('sha256').update(keyId).digest('hex')

/** Skips a line truncated by a crash; it is appended again. */
async function readLines(path: string): Promise<ForgottenKey[]> {
  return (await textOf(path)).split('\n').flatMap((line) => ErasedKey.safeParse(parsed(line)).data ?? [])
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

/**
 * Appends in one write, so that processes do not mix their lines. A leading line feed closes a line truncated by a
 * crash.
 */
async function append(path: string, keys: readonly ForgottenKey[]): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const file = await open(path, 'a+', 0o600)
  try {
    const { size } = await file.stat()
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1))
    const begin = size === 0 || buffer.toString() === '\n' ? '' : '\n'
    await file.writeFile(`${begin}${keys.map((key) => `${JSON.stringify(key)}\n`).join('')}`)
    await file.sync()
  } finally {
    await file.close()
  }
  await fsyncFolder(dirname(path))
}

interface Forgetting {
  readonly pool: Pool
  readonly writer: Writer
  readonly list: ErasureList
  readonly retentionYears: number
  /** Called for each person who is erased again. */
  readonly onForgotten: (companyId: number, subject: string) => void
  readonly onError: (error: unknown) => void
}

/**
 * Repeats erasures that a restored backup has undone: for persons on the list if their key is the destroyed one,
 * or if they existed before its destruction. Retries while writes are blocked; resolves when none is left.
 */
export const eraseRestoredPersons = (forgetting: Forgetting, signal: AbortSignal): Promise<void> =>
  retry(signal, () => forgetOnce(forgetting), forgetting.onError)

/** A failure for one person does not stop the erasure of others. */
async function forgetOnce(forgetting: Forgetting): Promise<'done'> {
  const { pool, list, onForgotten } = forgetting
  const failures: unknown[] = []
  for (const restored of await findRestored(pool, await list.read())) {
    try {
      await forgetAgain(forgetting, restored)
      onForgotten(restored.companyId, restored.subject)
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
  await list.sync()
  return 'done'
}

async function forgetAgain(
  { writer, retentionYears }: Forgetting,
  { companyId, subject, parts }: Restored,
): Promise<void> {
  const { type, id } = parseSubject(subject)
  const answer = await runAsSystem(writer, companyId, forgetPerson, {
    kind: type as 'customer',
    id,
    ground: 'restored_backup',
    // If only a part was erased, the law requires the rest to be kept.
    queue: !parts.includes('identity'),
    retention_years: retentionYears,
  })
  if (isRefusal(answer)) throw new Error(`${subject} of company ${companyId} cannot be forgotten: ${answer.refused}`)
}

interface Restored {
  readonly companyId: number
  readonly subject: string
  readonly parts: readonly PersonPart[]
}

/** Customers first; their erasure includes their orders. */
async function findRestored(pool: Pool, listed: readonly ForgottenKey[]): Promise<readonly Restored[]> {
  if (listed.length === 0) return []
  const { rows } = await pool.query<Restored>({
    ...FIND_RESTORED,
    values: [
      listed.map(({ company_id }) => company_id),
      listed.map(({ subject }) => parseSubject(subject).type),
      listed.map(({ subject }) => parseSubject(subject).id),
      listed.map(({ part }) => part),
      listed.map(({ key }) => key),
      listed.map(({ at }) => at),
    ],
  })
  return rows
}

/**
 * Since the restore an id may have been assigned to another person. That record is younger than the list's entry.
 */
const FIND_RESTORED = {
  name: 'find_restored_persons',
  text: `
select listed.company_id as "companyId", kind || '/' || listed.id as subject, array_agg(distinct listed.part) as parts
from unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::timestamptz[])
    as listed(company_id, kind, id, part, key, at)
  join lateral (
    select doc from customers where kind = 'customer' and company_id = listed.company_id and id = listed.id
    union all select doc from suppliers where kind = 'supplier' and company_id = listed.company_id and id = listed.id
    union all select doc from users where kind = 'user' and company_id = listed.company_id and id = listed.id
    union all select doc from orders where kind = 'order' and company_id = listed.company_id and id = listed.id
  ) as record on true
  left join person_keys k on k.company_id = listed.company_id and k.subject = kind || '/' || listed.id and k.part = listed.part
where ${isRecordingCompany('listed.company_id')} and (k.key_id is null or k.wrapped is not null)
  and (encode(sha256(k.key_id::text::bytea), 'hex') = listed.key or (record.doc ->> 'created_at')::timestamptz <= listed.at)
group by listed.company_id, kind, listed.id
order by listed.company_id, kind, listed.id`,
}

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
               where destroyed_at > now() - make_interval(mins => $1) and ${isOpenCompany('company_id')} group by company_id, subject) as lately
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
           and ${isRecordingCompany('f.company_id')}
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

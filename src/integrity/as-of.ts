import type { Pool, PoolClient } from 'pg'
import type { Vault } from '#crypto/vault.ts'
import { addMilliseconds, type Calendar, dateInZone } from '#domain/instant.ts'
import type { PaymentLinks } from '#domain/order-states.ts'
import { type Refusal, refuse, refuseField } from '#domain/refusals.ts'
import { type Envelope, isRefusal, streamName } from '#ledger/command.ts'
import { type EventReader, type EventStore, type Search, search, searchOpened } from '#ledger/port.ts'
import { type OpenReadSession, SHORT_WAIT_BUDGET_MS } from '#ledger/replicas/replicas.ts'
import type { PersonKeys } from '#ledger/sealed-fields.ts'
import { type AnyRef, markTable, pastColumns, type Ref } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { Unavailable } from '#lib/errors.ts'
import type { KeyedSemaphore } from '#lib/fair-sharing.ts'
import type { PoolOf } from '#postgres/pool.ts'
import { type ClockCorrection, type CompanyRow, companies, keepsClock } from '#projections/companies.ts'
import { getTestCompanyState } from '#queries/company-queries.ts'
import { readModelHead } from '#queries/event-queries.ts'
import { fullReader, Reader, type ReadSource, WHOLE } from '#queries/reader.ts'
import { t } from '#queries/table-names.ts'
import { openPast, type PastRow } from './past-tables.ts'
import { type LedgerStores, loadLedgerHead } from './verify.ts'

/** Events at which a ledger's time went back (LEDGER-20), oldest first. */
export async function loadClockCorrections(reader: Reader): Promise<readonly ClockCorrection[]> {
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
const tellingFrom = (corrections: readonly ClockCorrection[], time: string): number =>
  corrections.findLast(({ recorded_at }) => recorded_at <= time)?.revision ?? 0

/** Past state of a ledger, inclusive: a revision, or a time (UTC). */
export type AsOfMoment = { readonly revision: number } | { readonly time: string }

/** The company's state at that revision or time. */
export interface CompanyAsOf {
  readonly companyId: number
  /** Reads only the company's past rows. A query that needs other tables fails instead of showing present data. */
  readonly source: ReadSource
  readonly store: EventStore
  readonly keys: PersonKeys
  /** Revision of the last event included. */
  readonly revision: number
  /** Time zone and day at that time. */
  readonly calendar: Calendar
  /** Present payment links: an order that could be paid at that time is shown with its link. */
  readonly paymentLinks: PaymentLinks
}

/** Dependencies. Each query holds one connection and reads the ledger through another. */
export interface AsOfCore extends LedgerStores, EventReader {
  /**
   * The ledger is read from a replica if possible. Rows are read from the primary, because a replica has no temporary
   * tables.
   */
  readonly readsOf: OpenReadSession
  readonly asOf: AsOfBounds
  readonly paymentLinks: PaymentLinks
}

/** What reads of tables and ledgers use: at present, on replicas, in the past. */
export interface LedgerReads extends AsOfCore {
  /** For the statements of a company: its share of the connections of `pool`. */
  readonly poolOf: PoolOf
  /** Encrypts and decrypts secrets. */
  readonly vault: Vault
}

export interface AsOfBounds {
  /** One query per company at a time. */
  readonly turns: KeyedSemaphore
  /** Longest wait in the queue, and longest run time after it. */
  readonly timeoutMs: number
}

/** Too many as-of queries for the company (`as_of_busy`), or a timeout (`as_of_timeout`). */
export class PastUnavailable extends Unavailable {
  constructor(readonly reason: 'as_of_busy' | 'as_of_timeout') {
    super(reason === 'as_of_busy' ? 'too many look back at this company' : 'looking back took too long')
  }
}

const NEVER = new AbortController().signal

/**
 * Runs work on a company's past state (ADR-0039). Unchanged rows are read from their tables; changed ones are
 * reconstructed from the events that changed them. Refuses a revision or time that the ledger does not have. Stops when
 * `gone` reports that the client has disconnected. @throws PastUnavailable
 */
export async function withPastCompany<T>(
  core: AsOfCore,
  companyId: number,
  at: AsOfMoment,
  work: (asOf: CompanyAsOf) => Promise<T>,
  gone: AbortSignal = NEVER,
): Promise<T | Refusal> {
  const { turns, timeoutMs } = core.asOf
  const leave = await turns.acquire(companyId, AbortSignal.any([gone, AbortSignal.timeout(timeoutMs)]))
  if (!leave) throw new PastUnavailable('as_of_busy')
  const deadline = AbortSignal.timeout(timeoutMs)
  const signal = AbortSignal.any([gone, deadline])
  try {
    return await lookBack(core, companyId, at, work, signal)
  } catch (error) {
    if (deadline.aborted) throw new PastUnavailable('as_of_timeout')
    throw error
  } finally {
    leave()
  }
}

/** Last revision before an instant (UTC); -1 if there is none. */
export async function revisionBefore(
  { pool, readsOf }: Pick<AsOfCore, 'pool' | 'readsOf'>,
  companyId: number,
  time: string,
): Promise<number> {
  const { revision: headRevision } = await loadLedgerHead(pool, companyId)
  const { store } = readsOf(companyId, { revision: headRevision, wait_budget_ms: SHORT_WAIT_BUDGET_MS })
  const corrections = await loadClockCorrections(fullReader(pool, companyId))
  const latest = new Date(Date.parse(time) - 1).toISOString()
  return (await lastBefore(store, companyId, latest, { headRevision, corrections }))?.revision ?? -1
}

/** Last instant before a time of the company's clock, which test companies move ahead (both UTC). */
export async function lastInstantBefore(store: EventStore, reader: Reader, time: string): Promise<string> {
  const latest = Date.parse(time) - 1
  let [instant, ahead] = [latest, 0]
  if ((await getTestCompanyState(reader))?.clock_ahead_ms) {
    const { revision } = await readModelHead(reader)
    const moves = { types: ['TestClockMoved', 'TestDataErased'], subject: null, origin: null, actor: null }
    for (const event of await eventsIn(store, streamName(reader.companyId), 0, revision + 1, moves)) {
      ahead = event.type === 'TestDataErased' ? 0 : ahead + (event.data as { by_ms: number }).by_ms
      const reached = Math.max(Date.parse(event.recorded_at) - 1, latest - ahead)
      instant = ahead === 0 ? reached : Math.min(reached, instant)
    }
  }
  return new Date(instant).toISOString()
}

async function lookBack<T>(
  core: AsOfCore,
  companyId: number,
  at: AsOfMoment,
  work: (asOf: CompanyAsOf) => Promise<T>,
  signal: AbortSignal,
): Promise<T | Refusal> {
  const { pool, model, keys } = core
  const head = await loadLedgerHead(pool, companyId)
  if (head.revision < 0) return refuse('not_found', { company_id: companyId })
  if ('revision' in at && (at.revision < 0 || at.revision > head.revision))
    return refuseField('at', `o livro vai da revisão 0 à ${head.revision}`)
  const { store } = core.readsOf(companyId, { revision: head.revision, wait_budget_ms: SHORT_WAIT_BUDGET_MS })
  const corrections = await loadClockCorrections(fullReader(pool, companyId))
  const last =
    'revision' in at
      ? await eventAt(store, companyId, at.revision)
      : await lastBefore(store, companyId, at.time, { headRevision: head.revision, corrections })
  if (!last) return refuseField('at', 'é antes do primeiro evento do livro')
  const { revision } = last
  const erased = await erasedRevisionOf(pool, companyId)
  if (erased !== null && revision < erased)
    return refuseField(
      'at',
      `os dados da empresa de teste foram apagados na revisão ${erased}: o que havia antes só está no livro`,
    )
  const until = corrections.length > 0 ? null : last.recorded_at
  return onConnection(core, signal, async (client) => {
    const past = await openPast(client, { store, model, keys, companyId, revision, until, signal }, last)
    const timezone = past.company.timezone as string
    const now = addMilliseconds('time' in at ? at.time : last.recorded_at, past.company.clock_ahead_ms as number)
    const calendar = { timezone, today: dateInZone(now, timezone) }
    return work({ companyId, source: past.source, store, keys, revision, calendar, paymentLinks: core.paymentLinks })
  })
}

/**
 * Runs work on a new connection; the signal cancels its statement. Temporary tables, settings and plans end with it.
 */
async function onConnection<T>(
  { pool, asOf }: AsOfCore,
  signal: AbortSignal,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const client = await pool.connect()
  const { processID } = client as unknown as { processID: number }
  const cancel = () => {
    pool.query('select pg_cancel_backend($1)', [processID]).catch(() => {})
  }
  signal.addEventListener('abort', cancel, { once: true })
  try {
    // Covers a statement that starts during the cancellation.
    await client.query(`set statement_timeout = ${asOf.timeoutMs}`)
    return await work(client)
  } finally {
    signal.removeEventListener('abort', cancel)
    client.release(true)
  }
}

/** Revision at which a test company was last emptied (KIT-37). */
async function erasedRevisionOf(pool: Pool, companyId: number): Promise<number | null> {
  const { rows } = await pool.query<{ erased_revision: number | null }>({
    name: 'erased_revision',
    text: 'select erased_revision from companies where company_id = $1',
    values: [companyId],
  })
  return rows[0]?.erased_revision ?? null
}

async function eventAt(store: EventStore, companyId: number, revision: number): Promise<Envelope> {
  for await (const event of store.pick(streamName(companyId), [revision])) return event
  throw new Error(`the ledger of company ${companyId} has no event ${revision}`)
}

/**
 * Revision of the last event up to a time, inclusive; null if there is none. Times decrease only at clock corrections.
 * Events before the last correction up to that time count as earlier; events after the next correction count as later.
 */
async function lastBefore(
  store: EventStore,
  companyId: number,
  time: string,
  {
    headRevision,
    corrections,
  }: { headRevision: number; corrections: Awaited<ReturnType<typeof loadClockCorrections>> },
): Promise<Envelope | null> {
  const place = corrections.findLastIndex(({ recorded_at }) => recorded_at <= time)
  const begin = corrections[place]?.revision ?? 0
  let [low, high] = [begin, (corrections[place + 1]?.revision ?? headRevision + 1) - 1]
  let found = begin === 0 ? null : await eventAt(store, companyId, begin - 1)
  while (low <= high) {
    const middle = low + Math.floor((high - low) / 2)
    const event = await eventAt(store, companyId, middle)
    if (event.recorded_at <= time) {
      found = event
      low = middle + 1
    } else high = middle - 1
  }
  return found
}

/** Loads rows of a company by primary key, and returns them with the rows loaded before. */
export type Load = (refs: readonly AnyRef[]) => Promise<Rows>

/** The row has changed since the revision. */
class HasChanged extends Error {}

/**
 * Runs work on rows as they were right after an applied event; of the company's row only the time settings count.
 * Unchanged rows, the usual case for up-to-date consumers, are read from their tables; if one has changed, the work
 * runs again on the company's past state. Null if there is none because a test company was emptied since. @throws
 * PastUnavailable
 */
export async function withRowsAfter<T>(
  core: AsOfCore & { readonly poolOf: PoolOf },
  companyId: number,
  revision: number,
  work: (load: Load) => Promise<T>,
): Promise<T | null> {
  try {
    return await work(
      loaderOf(fullReader(core.poolOf(companyId), companyId), (row, { table }) => {
        if (row && table === companies && keepsClock(row as unknown as CompanyRow)) return
        if (!row || (row.revision as number) > revision) throw new HasChanged()
      }),
    )
  } catch (error) {
    if (!(error instanceof HasChanged)) throw error
  }
  const answer = await withPastCompany(core, companyId, { revision }, async ({ source }) => ({
    found: await work(loaderOf(new Reader(companyId, source, WHOLE))),
  }))
  return isRefusal(answer) ? null : answer.found
}

function loaderOf(reader: Reader, check: (row: PastRow | null, ref: AnyRef) => void = () => {}): Load {
  const known = new Map<string, PastRow | null>()
  const rows: Rows = {
    get<R>(ref: Ref<R>) {
      const row = known.get(keyOf(ref))
      if (row === undefined) throw new Error(`row ${keyOf(ref)} was not loaded`)
      return row as R | null
    },
  }
  return async (refs) => {
    for (const ref of refs) {
      const key = keyOf(ref)
      if (known.has(key)) continue
      const row = await find(reader, ref)
      check(row, ref)
      known.set(key, row)
    }
    return rows
  }
}

const keyOf = ({ table, by, values }: AnyRef): string => `${table.name} ${by} ${values.join(' ')}`

async function find(reader: Reader, { table, by, values }: AnyRef): Promise<PastRow | null> {
  const columns = table.keys[by] as readonly string[]
  const text = `select ${Object.keys(pastColumns(table)).join(', ')} from ${markTable(table.name)} where ${columns.map((column, place) => `${column} = $${place + 1}`).join(' and ')}`
  const ids = [(values.at(-1) as number | undefined) ?? reader.companyId]
  const statement = { name: `row_after_${table.name}_${by}`, text, values }
  const { rows } = await reader.query<PastRow>({ ...statement, readSet: { [table.name]: ids } })
  return rows[0] ?? null
}

/** Filters of a ledger's events; null matches all. */
export interface TimelineFilters {
  readonly types: readonly string[] | null
  readonly subject: string | null
  readonly origin: string | null
  /** As `user/3`; `system` is the service. */
  readonly actor: string | null
  /** UTC: the first inclusive, the last exclusive. */
  readonly since: string | null
  readonly until: string | null
}

interface Timeline {
  /** Newest first. */
  readonly events: readonly Envelope[]
  /** Cursor: the next page has the events before this revision; null on the last page. */
  readonly before: number | null
}

/** Revisions scanned at a time, and at most for one page, so that rare matches do not cause long scans. */
const WINDOW = 2_000
const LOOKED_THROUGH = 40_000

/**
 * A page of a ledger for people, backwards from a revision (exclusive). With filters a page may be short although more
 * events follow.
 */
export async function timeline(
  store: EventStore,
  companyId: number,
  corrections: readonly ClockCorrection[],
  before: number,
  { since, until, ...filters }: TimelineFilters,
  limit: number,
): Promise<Timeline> {
  const stream = streamName(companyId)
  const first = since === null ? 0 : await revisionAt(store, stream, corrections, since, before)
  let end = until === null ? before : await revisionAt(store, stream, corrections, until, before)
  const lowest = Math.max(first, end - LOOKED_THROUGH)
  const found: Envelope[] = []
  while (end > lowest && found.length <= limit) {
    // Without filters it reads only the page itself.
    const begin = Math.max(lowest, end - (isOpen(filters) ? limit + 1 : WINDOW))
    found.push(...(await eventsIn(store, stream, begin, end, filters)).reverse())
    end = begin
  }
  if (found.length > limit) {
    const events = found.slice(0, limit)
    return { events, before: events.at(-1)?.revision ?? null }
  }
  return { events: found, before: end > first ? end : null }
}

type Conditions = Omit<TimelineFilters, 'since' | 'until'>

const isOpen = (filters: Conditions): boolean => Object.values(filters).every((value) => value === null)

async function eventsIn(
  store: EventStore,
  stream: string,
  begin: number,
  end: number,
  { types, subject, origin, actor }: Conditions,
): Promise<Envelope[]> {
  const events: Envelope[] = []
  for (let from = begin; from < end; ) {
    const page = await search(store, stream, { fromRevision: from, toRevision: end - 1, types, subject, limit: WINDOW })
    for (const { json } of page.events) {
      const event = JSON.parse(json) as Envelope
      if ((origin === null || event.origin === origin) && (actor === null || (event.actor ?? 'system') === actor))
        events.push(event)
    }
    from = page.seenTo + 1
  }
  return events
}

/**
 * First revision below `end` recorded at a time or later, or `end`. Uses binary search, because times are ascending
 * between clock corrections.
 */
async function revisionAt(
  store: EventStore,
  stream: string,
  corrections: readonly ClockCorrection[],
  time: string,
  end: number,
): Promise<number> {
  const next = corrections.find(({ recorded_at }) => recorded_at > time)?.revision ?? end
  let [low, high] = [Math.min(tellingFrom(corrections, time), end), Math.min(next, end)]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const event = await findEventAt(store, stream, middle)
    if (event && event.recorded_at < time) low = middle + 1
    else high = middle
  }
  return low
}

const only = (revision: number): Search => ({
  fromRevision: revision,
  toRevision: revision,
  types: null,
  subject: null,
  limit: 1,
})

/** An event of a stream; null if there is none. */
async function findEventAt(store: EventStore, stream: string, revision: number): Promise<Envelope | null> {
  const { events } = await search(store, stream, only(revision))
  return events[0] ? (JSON.parse(events[0].json) as Envelope) : null
}

/** The stored event, and its data with personal fields in clear text. */
export async function openEventAt(
  reading: EventReader,
  companyId: number,
  revision: number,
): Promise<{ event: Envelope; opened: object } | null> {
  const { events } = await searchOpened(reading, streamName(companyId), only(revision))
  if (!events[0]) return null
  const { opened, ...event } = JSON.parse(events[0].json) as Envelope & { readonly opened: object }
  return { event, opened }
}

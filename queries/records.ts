import type { Pool } from 'pg'
import { z } from 'zod'
import { CalendarDate, Instant, instantsInZone, inZone } from '#domain/instant.ts'
import { invalid, type Refusal, refuse } from '#domain/refusal.ts'
import { searchKey } from '#domain/text.ts'
import type { Text } from '#lib/bytes.ts'
import { asRowBytes, columnOf, type RowsTogether, release, rowsIn } from '#postgres/row-bytes.ts'
import { type CursorScope, decodeCursor, encodeCursor } from './cursor.ts'
import {
  type Conditions,
  isDaily,
  keyIn,
  type LedgerRow,
  listStatement,
  type Order,
  readRows,
  recordIn,
  recordOf,
  recordsIn,
  type Source,
  type Start,
  tableOf,
} from './list-statement.ts'
import { type Look, looking } from './looking.ts'

export interface Page {
  /** JSON texts of the records, joined by commas; in pieces of bytes where they are as the tables have them. */
  readonly data: Text
  readonly has_more: boolean
  /** Cursor of the next page; null on the last one. */
  readonly next: string | null
  /** Time of the ledger's last event in the snapshot of the page, with the company's offset: the poller's next `updated_since`. */
  readonly synced_at: string
  readonly revision: number
  /** Identifies the tables of the read model that it comes from, if any; a rebuild makes new ones. */
  readonly tables?: number
  /** Gives the memory of `data` back, once it has been copied; whoever does not call it leaves that to the garbage collector. */
  readonly release?: () => void
}

/** Instants are UTC, as `Instant` gives them. */
export interface Paging {
  readonly limit: number
  readonly cursor?: string
}

export interface ListPaging extends Paging {
  /** Only what changed since then, inclusive, in the order of change. */
  readonly updated_since?: string
}

export interface DeletedPaging extends Paging {
  /** Only what was deleted since then, inclusive. */
  readonly since?: string
}

export interface Listing<F> extends Source {
  readonly filters: { readonly [N in keyof F & string]-?: (parameter: string, today: string) => string }
}

export const BY_ID: Order = { name: 'id', columns: [{ name: 'id', type: 'bigint' }] }

/** The newest first, as people look at lists. */
export const NEWEST_FIRST: Order = { name: 'newest', columns: BY_ID.columns, descending: true }

export const BY_NAME: Order = {
  name: 'by_name',
  columns: [
    { name: 'sort_key', type: 'text', collation: 'C' },
    { name: 'id', type: 'bigint' },
  ],
}

/** Revisions follow time, so this is the order of the ledger; time comes first because `updated_since` is one. */
export const BY_CHANGE: Order = {
  name: 'change',
  columns: [
    { name: 'changed_at', type: 'timestamptz' },
    { name: 'revision', type: 'bigint' },
    { name: 'id', type: 'bigint' },
  ],
}

const BY_DELETION: Order = {
  name: 'deletion',
  columns: [
    { name: 'deleted_at', type: 'timestamptz' },
    { name: 'id', type: 'bigint' },
  ],
}

/**
 * Lists live records by id, or by their last change those that changed since a time. Refuses a cursor of another list.
 * `today` is the company's day, for listings that depend on it; no cursor does.
 */
export async function list<F extends object>(
  pool: Pool,
  listing: Listing<F>,
  companyId: number,
  query: ListPaging & F,
  today?: string,
): Promise<Page | Refusal> {
  const { limit, cursor, updated_since, ...filters } = query
  const order = updated_since === undefined ? BY_ID : BY_CHANGE
  const conditions = listing.filters
  return fetchPage(pool, listing, companyId, { order, conditions, filters, limit, cursor, since: updated_since, today })
}

/** Lists deleted records as {id, external_id, deleted_at}, in the order of their deletion. */
export async function listDeleted(
  pool: Pool,
  table: string,
  companyId: number,
  { limit, cursor, since }: DeletedPaging,
): Promise<Page | Refusal> {
  const source: Source = {
    resource: `${table}_deleted`,
    from: `${table} t`,
    record: `json_build_object('id', t.id, 'external_id', t.external_id, 'deleted_at', t.deleted_at)`,
    where: 't.deleted_at is not null',
    present: (record, timezone) => {
      const entry = record as { deleted_at: string }
      return { ...entry, deleted_at: localTime(entry.deleted_at, timezone) }
    },
  }
  return fetchPage(pool, source, companyId, { order: BY_DELETION, conditions: {}, filters: {}, limit, cursor, since })
}

/** Lists what has no `updated_since`, in an order of its own. `today` is the company's day, as for `list`. */
export function listInOrder<F extends object>(
  pool: Pool,
  listing: Listing<F>,
  order: Order,
  companyId: number,
  { limit, cursor, ...filters }: Paging & F,
  today?: string,
): Promise<Page | Refusal> {
  return fetchPage(pool, listing, companyId, { order, conditions: listing.filters, filters, limit, cursor, today })
}

/** A time as Postgres prints it in JSON (any number of digits, its own offset), on the company's clock. */
export const localTime = (printed: string, timezone: string): string =>
  inZone(new Date(printed).toISOString(), timezone)

interface Wanted {
  readonly order: Order
  readonly conditions: Conditions
  readonly filters: object
  readonly limit: number
  readonly cursor: string | undefined
  readonly since?: string | undefined
  readonly today?: string | undefined
}

async function fetchPage(
  pool: Pool,
  source: Source,
  companyId: number,
  { order, conditions, filters, limit, cursor, since, today }: Wanted,
): Promise<Page | Refusal> {
  const scope: CursorScope = { resource: source.resource, filters: { ...filters, since } }
  const after = cursor === undefined ? [] : decodeCursor(scope, keySchema(order), cursor)
  if (!after) return invalid('cursor', 'não é um cursor desta lista com estes filtros')
  const values = filters as Record<string, unknown>
  const present = Object.keys(conditions).filter((name) => values[name] !== undefined)
  const start: Start = cursor !== undefined ? 'after' : since !== undefined ? 'since' : 'first'
  const bounds = start === 'since' ? [since] : after
  const answer = await pool.query<RowsTogether>(
    looking({
      ...asRowBytes(listStatement(source, order, conditions, present, start)),
      values: [
        companyId,
        limit,
        ...(isDaily(source) ? [today] : []),
        ...present.map((name) => values[name]),
        ...bounds,
      ],
      looks: looksOf(source, order, conditions, present),
    }),
  )
  const rows = rowsIn(answer)
  const [ledger, found] = readRows(rows, order, companyId)
  // Whatever was there before is gone without a trace in the tables (KIT-38).
  if (since !== undefined && !source.outlastsReset && ledger.erased_at !== null && since < ledger.erased_at)
    return refuse('test_data_erased', { erased_at: inZone(ledger.erased_at, ledger.timezone) })
  const listed = found.slice(0, limit)
  const last = found.length > limit ? listed.at(-1) : undefined
  return {
    data: isPassedOn(source, ledger)
      ? recordsIn(listed)
      : listed.map((row) => shown(source, columnOf.text(recordIn(row)), ledger)).join(','),
    has_more: last !== undefined,
    next: last ? encodeCursor(scope, keyIn(order, last)) : null,
    synced_at: inZone(ledger.last_recorded_at, ledger.timezone),
    revision: ledger.revision,
    tables: ledger.tables,
    release: () => release(rows),
  }
}

/** Columns that are busy somewhere (`Past`). */
const BUSY = /\b(doc|stock)\b/

/** A page shows all of its own records only, unless which ones these are depends on more than columns. */
function looksOf(
  source: Source,
  order: Order,
  conditions: Conditions,
  present: readonly string[],
): Readonly<Record<string, Look>> {
  const lookedUp = (source.lookedUp ?? []).map((table) => [table, 'columns'] as const)
  const names = order.columns.map(({ name }) => name)
  const isByColumns = names.includes('id') && !names.includes('changed_at')
  const asksBusy = present.some((name) => BUSY.test(conditions[name]?.('', '') ?? ''))
  const own = isByColumns && !asksBusy ? [[tableOf(source), 'answered'] as const] : []
  return Object.fromEntries([...lookedUp, ...own])
}

type Clock = Pick<LedgerRow, 'timezone' | 'zone_changed'>

/** Whether records are shown as the tables have them. */
const isPassedOn = ({ present, complete }: Source, { zone_changed }: Clock): boolean =>
  !present && !complete && !zone_changed

/** A record's JSON text with instants on the clock of the company's present zone (VAL-3, decision 33). */
function shown({ present, complete }: Source, record: string, { timezone, zone_changed }: Clock): string {
  if (present) return JSON.stringify(present(JSON.parse(record), timezone))
  const local = zone_changed ? instantsInZone(record, timezone) : record
  return complete ? complete(local) : local
}

/** Postgres stores no U+0000. */
const StorableText = z
  .string()
  .max(1000)
  .regex(/^[^\0]*$/)

const COLUMN_SCHEMAS = {
  bigint: z.int().nonnegative(),
  timestamptz: Instant,
  date: CalendarDate,
  uuid: z.uuid(),
  text: StorableText,
}

/** Cursors come from outside: values that are impossible for a column would make Postgres fail. */
function keySchema({ columns }: Order): z.ZodType<(string | number)[]> {
  const schemas = columns.map(({ type }): z.ZodType<string | number> => COLUMN_SCHEMAS[type])
  return z.tuple(schemas as [z.ZodType<string | number>, ...z.ZodType<string | number>[]])
}

/** A record, or that there is none, in the snapshot of a revision of the ledger. */
export interface Found {
  /** JSON text of the record; null when it does not exist, is deleted, or is another company's. */
  readonly record: string | null
  readonly revision: number
}

const COLUMNS = { id: 'bigint', external_id: 'text' } as const

/** Gets the record that has a value in a unique column. `today` is the company's day, for sources that depend on it. */
export async function getBy(
  pool: Pool,
  source: Source,
  companyId: number,
  column: keyof typeof COLUMNS,
  value: number | string,
  today?: string,
): Promise<Found> {
  const { resource, from, where } = source
  const live = where ? ` and ${where}` : ''
  const table = tableOf(source)
  const idOf = `select t.id from ${table} t where t.company_id = $1 and t.${column} = $2::${COLUMNS[column]}`
  const look: Look =
    typeof value === 'number' ? [value] : { text: idOf, values: [companyId, value], looks: { [table]: 'columns' } }
  const statement = looking({
    name: `get_${resource}_by_${column}`,
    text: `select l.revision, c.timezone, c.zone_changed,
                  (select (${recordOf(source)})::text from ${from} where t.company_id = $1 and t.${column} = $2::${COLUMNS[column]}${live}) as record
           from ledgers l
           join companies c on c.company_id = l.company_id
           where l.company_id = $1`,
    values: [companyId, value, ...(isDaily(source) ? [today] : [])],
    looks: { [table]: look },
  })
  const { rows } = await pool.query<Found & Clock>(statement)
  const [found] = rows
  if (!found) throw new Error(`company ${companyId} is not registered`)
  const { record, revision } = found
  return { record: record === null ? null : shown(source, record, found), revision }
}

const patternOf = (key: string): string => `%${key.replace(/[\\%_]/g, '\\$&')}%`

/** The pattern of names that contain a text, if there is one, for `like` on sort keys: neither case, accents nor spacing matter. */
export function containing(text: string | undefined): string | undefined {
  return text === undefined ? undefined : patternOf(searchKey(text))
}

/** The patterns of a search, if there is one, for `like all` on the column `search`: each word, wherever it stands. */
export function wordsOf(text: string | undefined): string[] | undefined {
  return text === undefined ? undefined : searchKey(text).split(' ').map(patternOf)
}

/** SQL of the condition that a record has all words. */
export const hasWords = (patterns: string): string => `t.search like all (${patterns}::text[])`

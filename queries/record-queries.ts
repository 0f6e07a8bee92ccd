import { createHash } from 'node:crypto'
import * as z from 'zod'
import { CalendarDate, Instant, instantsInZone, inZone } from '#domain/instant.ts'
import { gtinKey } from '#domain/record-values.ts'
import { type Refusal, refuse, refuseField } from '#domain/refusals.ts'
import { limitedText, searchKey } from '#domain/text.ts'
import { markTable } from '#ledger/table.ts'
import type { EncodedText } from '#lib/fair-sharing.ts'
import { asRowBytes, columnReaders, type RowsTogether, release, rowsIn } from '#postgres/row-bytes.ts'
import {
  type Conditions,
  getListedTable,
  isDaily,
  type LedgerRow,
  type ListOrder,
  listStatement,
  orderBy,
  type PageStart,
  readRows,
  recordExpression,
  recordIn,
  recordsIn,
  type Source,
  TODAY,
  toCursorKey,
} from './list-statement.ts'
import type { Reader, ReadScope } from './reader.ts'
import { type RuledTable, t } from './table-names.ts'

/** Scope of a cursor. A cursor of another company, list or filters would skip records silently. */
interface CursorScope {
  readonly companyId: number
  readonly resource: string
  /** Everything that selects the listed records; absent and undefined filters are equal. */
  readonly filters: object
}

/** Raised when the meaning of a key changes; cursors of other versions are refused. */
const VERSION = 1
const DIGEST_BYTES = 12

const content = z.strictObject({ v: z.literal(VERSION), r: z.string(), f: z.string(), k: z.unknown() })

/** An opaque text of the key after which the next page begins. */
export function encodeCursor(scope: CursorScope, key: readonly (string | number)[]): string {
  const text = JSON.stringify({ v: VERSION, r: scope.resource, f: digest(scope), k: key })
  return Buffer.from(text).toString('base64url')
}

/** The key in a cursor; null for a damaged cursor or one of another list. */
export function decodeCursor<K extends readonly (string | number)[]>(
  scope: CursorScope,
  key: z.ZodType<K>,
  cursor: string,
): K | null {
  const parsed = content.safeParse(parseJson(Buffer.from(cursor, 'base64url').toString()))
  if (!parsed.success) return null
  const found = key.safeParse(parsed.data.k)
  // Re-encoding covers resource, digest and stray characters at once.
  return found.success && encodeCursor(scope, found.data) === cursor ? found.data : null
}

function digest({ companyId, resource, filters }: CursorScope): string {
  const present = Object.entries(filters).filter(([, value]) => value !== undefined)
  const text = JSON.stringify([companyId, resource, present.sort(([a], [b]) => (a < b ? -1 : 1))])
  return createHash('sha256').update(text).digest().subarray(0, DIGEST_BYTES).toString('base64url')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

export interface Page {
  /** JSON texts of the records, separated by commas; ranges of bytes if they come unchanged from the tables. */
  readonly data: EncodedText
  readonly has_more: boolean
  /** Cursor of the next page; null on the last one. */
  readonly next: string | null
  /** Time of the snapshot's last event, with the company's offset: the poller's next `updated_since`. */
  readonly synced_at: string
  readonly revision: number
  /** Identifies the read-model tables of the page; a rebuild creates new ones. */
  readonly tables?: number
  /** Returns the memory of `data` to the pool after it was copied; without the call the garbage collector frees it. */
  readonly release?: () => void
}

/** Instants in UTC, as `Instant` parses them. */
export interface Paging {
  readonly limit: number
  readonly cursor?: string
}

export interface ListPaging extends Paging {
  /** Only records changed since then, inclusive, in order of change. */
  readonly updated_since?: string
}

export interface DeletedPaging extends Paging {
  /** Only records deleted since then, inclusive. */
  readonly since?: string
}

export interface Listing<F> extends Source {
  /** Order of `updated_since` if the listed table does not have it. */
  readonly byChange?: ListOrder
  readonly filters: { readonly [N in keyof F & string]-?: (parameter: string, today: string) => string }
}

/**
 * One record that no listing has, as SQL of its JSON ($1: company), with the ledger's revision. `present` makes the API
 * object, with instants on the company's clock.
 */
export async function getPresented(
  reader: Reader,
  { name, record, values }: { readonly name: string; readonly record: string; readonly values: readonly unknown[] },
  present: (record: object, timezone: string) => object | null,
): Promise<FoundRecords> {
  const { rows } = await reader.query<{ revision: number; timezone: string; record: object | null }>({
    name,
    text: `select l.revision, c.timezone, (${record}) as record
           from ${t.ledgers} l join ${t.companies} c on c.company_id = l.company_id
           where l.company_id = $1`,
    values,
  })
  const [found] = rows
  if (!found) throw new Error(`company ${reader.companyId} has no ledger`)
  const shown = found.record && present(found.record, found.timezone)
  return { record: shown && JSON.stringify(shown), revision: found.revision }
}

/** SQL condition of the records that match filters, and the filters' values. $1: company; `first`: the first value's number. */
export function matchingRecords<F extends object>(
  { where, filters }: Listing<F>,
  given: F,
  first: number,
): { readonly condition: string; readonly values: readonly unknown[] } {
  const present = Object.entries(given).filter(([, value]) => value !== undefined)
  const conditions = present.map(([name], place) => filters[name as keyof F & string](`$${first + place}`, TODAY))
  const all = ['t.company_id = $1', ...(where ? [where] : []), ...conditions]
  return { condition: all.join(' and '), values: present.map(([, value]) => value) }
}

export const ORDER_BY_ID: ListOrder = { name: 'id', columns: [{ name: 'id', type: 'bigint' }] }

/** Newest first, for people. */
export const NEWEST_FIRST: ListOrder = { name: 'newest', columns: ORDER_BY_ID.columns, descending: true }

export const ORDER_BY_NAME: ListOrder = {
  name: 'by_name',
  columns: [
    { name: 'sort_key', type: 'text', collation: 'C' },
    { name: 'id', type: 'bigint' },
  ],
}

/** Revisions follow time, so this is the ledger's order; time comes first because `updated_since` is a time. */
export const ORDER_BY_CHANGE: ListOrder = {
  name: 'change',
  columns: [
    { name: 'changed_at', type: 'timestamptz' },
    { name: 'revision', type: 'bigint' },
    { name: 'id', type: 'bigint' },
  ],
}

const BY_DELETION = orderBy('deletion', 'deleted_at', 'timestamptz')

/**
 * Lists live records by id, or with `updated_since` by last change. Refuses a cursor of another list. `today` is the
 * company's day, for daily listings; cursors do not depend on it.
 */
export async function list<F extends object>(
  reader: Reader,
  listing: Listing<F>,
  query: ListPaging & F,
  today?: string,
): Promise<Page | Refusal> {
  const { limit, cursor, updated_since, ...filters } = query
  const order = updated_since === undefined ? ORDER_BY_ID : (listing.byChange ?? ORDER_BY_CHANGE)
  const conditions = listing.filters
  return fetchPage(reader, listing, { order, conditions, filters, limit, cursor, since: updated_since, today })
}

/** Lists deleted records as {id, external_id, deleted_at}, in order of deletion. */
export async function listDeleted(
  reader: Reader,
  table: RuledTable,
  { limit, cursor, since }: DeletedPaging,
): Promise<Page | Refusal> {
  const source: Source = {
    resource: `${table}_deleted`,
    from: `${t[table]} t`,
    record: `json_build_object('id', t.id, 'external_id', t.external_id, 'deleted_at', t.deleted_at)`,
    where: 't.deleted_at is not null',
    present: (record, timezone) => {
      const entry = record as { deleted_at: string }
      return { ...entry, deleted_at: localTime(entry.deleted_at, timezone) }
    },
  }
  return fetchPage(reader, source, { order: BY_DELETION, conditions: {}, filters: {}, limit, cursor, since })
}

/** Lists a resource without `updated_since` in a given order. `today` as for `list`. */
export function listInOrder<F extends object>(
  reader: Reader,
  listing: Listing<F>,
  order: ListOrder,
  { limit, cursor, ...filters }: Paging & F,
  today?: string,
): Promise<Page | Refusal> {
  return fetchPage(reader, listing, { order, conditions: listing.filters, filters, limit, cursor, today })
}

/** A time as Postgres prints it in JSON, converted to the company's clock. */
export const localTime = (printed: string, timezone: string): string =>
  inZone(new Date(printed).toISOString(), timezone)

interface PageQuery {
  readonly order: ListOrder
  readonly conditions: Conditions
  readonly filters: object
  readonly limit: number
  readonly cursor: string | undefined
  readonly since?: string | undefined
  readonly today?: string | undefined
}

async function fetchPage(
  reader: Reader,
  source: Source,
  { conditions, filters, limit, cursor, since, today, ...query }: PageQuery,
): Promise<Page | Refusal> {
  const order = shownOrder(reader, source, query.order)
  const scope: CursorScope = { companyId: reader.companyId, resource: source.resource, filters: { ...filters, since } }
  const after = cursor === undefined ? [] : decodeCursor(scope, keySchema(order), cursor)
  if (!after) return refuseField('cursor', 'não é um cursor desta lista com estes filtros')
  const values = filters as Record<string, unknown>
  const present = Object.keys(conditions).filter((name) => values[name] !== undefined)
  const start: PageStart = cursor !== undefined ? 'after' : since !== undefined ? 'since' : 'first'
  const bounds = start === 'since' ? [since] : after
  const answer = await reader.query<RowsTogether>({
    ...asRowBytes(listStatement(source, order, conditions, present, start)),
    values: [limit, ...(isDaily(source) ? [today] : []), ...present.map((name) => values[name]), ...bounds],
    readSet: readSetOf(source, order, conditions, present),
  })
  const rows = rowsIn(answer)
  const [ledger, found] = readRows(rows, order, reader.companyId)
  // The reset left no trace of earlier records in the tables (HTTP-15).
  if (since !== undefined && !source.outlastsReset && ledger.erased_at !== null && since < ledger.erased_at)
    return refuse('test_data_erased', { erased_at: inZone(ledger.erased_at, ledger.timezone) })
  const listed = found.slice(0, limit)
  const last = found.length > limit ? listed.at(-1) : undefined
  return {
    data:
      isSentAsStored(source, ledger) && !reader.sight.hidesCosts
        ? recordsIn(listed)
        : listed
            .map((row) => reader.maskText(toShownText(source, columnReaders.text(recordIn(row)), ledger)))
            .join(','),
    has_more: last !== undefined,
    next: last ? encodeCursor(scope, toCursorKey(order, last)) : null,
    synced_at: inZone(ledger.last_recorded_at, ledger.timezone),
    revision: ledger.revision,
    tables: ledger.tables,
    release: () => release(rows),
  }
}

/** The order without columns that are hidden: a constant key would be sorted for all rows, beside every index. */
function shownOrder(reader: Reader, source: Source, order: ListOrder): ListOrder {
  const table = getListedTable(source)
  const isHidden = ({ name, of = 't' }: ListOrder['columns'][number]) =>
    of === 't' && table !== null && reader.hides(table, name)
  if (!order.columns.some(isHidden)) return order
  return { ...order, name: `${order.name}_shown`, columns: order.columns.filter((column) => !isHidden(column)) }
}

/** Hot columns of any table (`Past`). */
const BUSY = /\b(doc|stock)\b/

/** A page reads only its own records, unless its conditions depend on more than columns. */
function readSetOf(
  source: Source,
  order: ListOrder,
  conditions: Conditions,
  present: readonly string[],
): Readonly<Record<string, ReadScope>> {
  const joinedTables = (source.joinedTables ?? []).map((table) => [table, 'columns'] as const)
  const names = order.columns.map(({ name }) => name)
  const isByColumns = names.includes('id') && !names.includes('changed_at')
  const asksBusy = present.some((name) => BUSY.test(conditions[name]?.('', '') ?? ''))
  const tables = [getListedTable(source), source.companion].filter((table) => table != null)
  const own = isByColumns && !asksBusy ? tables.map((table) => [table, 'answered'] as const) : []
  return Object.fromEntries([...joinedTables, ...own])
}

type Clock = Pick<LedgerRow, 'timezone' | 'zone_changed'>

/** Whether records are sent as the tables have them. */
const isSentAsStored = ({ present, complete }: Source, { zone_changed }: Clock): boolean =>
  !present && !complete && !zone_changed

/** A record's JSON text with instants in the company's present time zone (VAL-3, ADR-0006). */
function toShownText({ present, complete }: Source, record: string, { timezone, zone_changed }: Clock): string {
  if (present) return JSON.stringify(present(JSON.parse(record), timezone))
  const local = zone_changed ? instantsInZone(record, timezone) : record
  return complete ? complete(local) : local
}

/** Postgres cannot store U+0000. */
const StorableText = limitedText(1_000).regex(/^[^\0]*$/)

const COLUMN_SCHEMAS = {
  bigint: z.int().nonnegative(),
  timestamptz: Instant,
  date: CalendarDate,
  uuid: z.uuid(),
  text: StorableText,
}

/** Cursors are untrusted: a value that a column cannot hold would make Postgres fail. */
function keySchema({ columns }: ListOrder): z.ZodType<(string | number)[]> {
  const schemas = columns.map(({ type }): z.ZodType<string | number> => COLUMN_SCHEMAS[type])
  return z.tuple(schemas as [z.ZodType<string | number>, ...z.ZodType<string | number>[]])
}

/** A record, or its absence, with the revision of the snapshot. */
export interface FoundRecords {
  /** JSON text of the record; null if it is missing, deleted or another company's. */
  readonly record: string | null
  readonly revision: number
}

const COLUMNS = { id: 'bigint', external_id: 'text' } as const

/** The record with a value in a unique column. `today` is the company's day, for daily sources. */
export async function getBy(
  reader: Reader,
  source: Source,
  column: keyof typeof COLUMNS,
  value: number | string,
  today?: string,
): Promise<FoundRecords> {
  const { resource, from, where, companion } = source
  const live = where ? ` and ${where}` : ''
  const table = getListedTable(source)
  if (table === null) throw new Error(`${resource} has no table to look up a record in`)
  const idOf = `select t.id from ${markTable(table)} t where t.company_id = $1 and t.${column} = $2::${COLUMNS[column]}`
  const look: ReadScope =
    typeof value === 'number' ? [value] : { text: idOf, values: [value], readSet: { [table]: 'columns' } }
  const statement = {
    name: `get_${resource}_by_${column}`,
    text: `select l.revision, c.timezone, c.zone_changed,
                  (select (${recordExpression(source)})::text from ${from} where t.company_id = $1 and t.${column} = $2::${COLUMNS[column]}${live}) as record
           from ${t.ledgers} l
           join ${t.companies} c on c.company_id = l.company_id
           where l.company_id = $1`,
    values: [value, ...(isDaily(source) ? [today] : [])],
    readSet: { [table]: look, ...(companion && { [companion]: look }) },
  }
  const { rows } = await reader.query<FoundRecords & Clock>(statement)
  const [found] = rows
  if (!found) throw new Error(`company ${reader.companyId} is not registered`)
  const { record, revision } = found
  return { record: record === null ? null : toShownText(source, record, found), revision }
}

/** The record with an id, deleted ones included: old sales refer to it. */
export const getAny = (reader: Reader, source: Source, id: number): Promise<FoundRecords> =>
  getBy(reader, { ...source, resource: `any_${source.resource}`, where: 'true' }, 'id', id)

const patternOf = (key: string): string => `%${key.replace(/[\\%_]/g, '\\$&')}%`

/** `like` pattern on sort keys for names that contain a text: case, accents and spacing do not matter. */
export function containing(text: string | undefined): string | undefined {
  return text === undefined ? undefined : patternOf(searchKey(text))
}

/** `like all` patterns on the column `search`: every word, in any place. */
export function toWordPatterns(text: string | undefined): string[] | undefined {
  // A GTIN without its zeros is a part of each of its spellings.
  const withoutZeros = (word: string) => patternOf(gtinKey(word) ?? word)
  return text === undefined ? undefined : searchKey(text).split(' ').map(withoutZeros)
}

/** SQL condition: the record has all words. */
export const hasWords = (patterns: string): string => `t.search like all (${patterns}::text[])`

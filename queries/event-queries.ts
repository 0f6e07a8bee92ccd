import * as z from 'zod'
import { inZone } from '#domain/instant.ts'
import { MASKED } from '#domain/person-values.ts'
import type { RecordKind } from '#domain/record-values.ts'
import { type Refusal, refuseField } from '#domain/refusals.ts'
import { type Envelope, streamName } from '#ledger/command.ts'
import {
  type EventReader,
  type EventStore,
  type Search,
  type SearchPage,
  search,
  searchNewest,
  searchOpened,
} from '#ledger/port.ts'
import { parseSubject } from '#ledger/projection.ts'
import { maskPersonalData } from '#ledger/sealed-fields.ts'
import type { AnyRef } from '#ledger/table.ts'
import { markTable } from '#ledger/table.ts'
import { ownValue } from '#lib/collections.ts'
import { RECORD_ROWS, readModel } from '#projections/index.ts'
import type { Reader } from './reader.ts'
import { decodeCursor, encodeCursor, type Page, type Paging } from './record-queries.ts'
import { t } from './table-names.ts'
import { maskCosts } from './tables.ts'

interface EventFilters {
  /** Exclusive lower bound. */
  readonly after?: number | undefined
  readonly types?: readonly string[] | undefined
  readonly subject?: string | undefined
}

/** A cursor holds the last revision that was read. */
const Key = z.tuple([z.int().nonnegative()])

/**
 * A page of stored envelopes in order, up to the read model's revision. With a filter a page may be short although
 * there are more: the scan is bounded.
 */
export function listEvents(
  { reader, store }: { readonly reader: Reader; readonly store: EventStore },
  filters: Paging & EventFilters,
): Promise<Page | Refusal> {
  return findEvents(reader, filters, (wanted) => search(store, streamName(reader.companyId), wanted))
}

/** Ledgers with the read models derived from them. */
type Ledgers = Omit<EventReader, 'model'> & { readonly reader: Reader }

/** The same with opened personal fields, of the kinds of persons that `mayRead` allows. */
export function listOpenedEvents(
  { reader, ...ledgers }: Ledgers,
  filters: Paging & EventFilters,
  mayRead: (kind: string) => boolean,
): Promise<Page | Refusal> {
  const reading = { ...ledgers, model: readModel }
  return findEvents(reader, filters, (wanted) => searchOpened(reading, streamName(reader.companyId), wanted, mayRead))
}

async function findEvents(
  reader: Reader,
  { limit, cursor, after, types, subject }: Paging & EventFilters,
  find: (wanted: Search) => Promise<SearchPage>,
): Promise<Page | Refusal> {
  const scope = { companyId: reader.companyId, resource: 'events', filters: { after, types: types?.join(), subject } }
  const key = cursor === undefined ? [after ?? -1] : decodeCursor(scope, Key, cursor)
  if (!key) return refuseField('cursor', 'não é um cursor desta lista com estes filtros')
  const head = await readModelHead(reader)
  const { revision: toRevision } = head
  const { events, seenTo } = await find({
    fromRevision: (key[0] ?? -1) + 1,
    toRevision,
    types: types ?? null,
    subject: subject ?? null,
    limit,
  })
  const has_more = seenTo < toRevision
  return {
    data: events.map(({ json }) => json).join(','),
    has_more,
    next: has_more ? encodeCursor(scope, [seenTo]) : null,
    synced_at: inZone(head.last_recorded_at, head.timezone),
    revision: toRevision,
  }
}

/** Tables that only projections write: the row of a deleted record stays and proves that it existed. */
const derived = new Set(readModel.projections.flatMap(({ tables }) => tables))
/** Rows that belong to every record. */
const shared = new Set(readModel.base.map(({ table }) => table))

/**
 * The events of one record, upcast, opened as `mayRead` allows, oldest first; null if the company never had the record.
 */
export async function listHistory(
  { reader, ...ledgers }: Ledgers,
  subject: string,
  paging: Paging,
  mayRead?: (kind: string) => boolean,
): Promise<Page | Refusal | null> {
  if (!(await hasEver(reader, subject))) return null
  const reading = { ...ledgers, model: readModel }
  return findEvents(reader, { ...paging, subject }, (wanted) =>
    searchNewest(reading, streamName(reader.companyId), wanted, mayRead),
  )
}

async function hasEver(reader: Reader, subject: string): Promise<boolean> {
  const { type, id } = parseSubject(subject)
  if (type === 'company') return id === reader.companyId
  const refs = ownValue(readModel.views, type)?.refs(id) ?? []
  for (const ref of refs) {
    const { table } = ref
    if (derived.has(table) && !shared.has(table) && !table.global && (await isThere(reader, ref))) return true
  }
  return false
}

async function isThere(reader: Reader, { table, by, values }: AnyRef): Promise<boolean> {
  const id = values.at(-1)
  const columns = table.keys[by] as readonly string[]
  const { rows } = await reader.query({
    name: `is_there_${table.name}_${by}`,
    text: `select 1 from ${markTable(table.name)} t where ${columns.map((column, place) => `t.${column} = $${place + 1}`).join(' and ')}`,
    values,
    readSet: { [table.name]: typeof id === 'number' ? [id] : 'columns' },
  })
  return rows.length > 0
}

/** An event as a role sees it. */
export type ShownEvent<E> = E & {
  /** It is about a record that the role does not see: its content is left out. */
  readonly isHidden: boolean
}

/** Events as the reader's role sees them: personal data and costs masked, nothing of records that it does not see. */
export async function maskEvents<E extends Envelope>(
  reader: Reader,
  events: readonly E[],
): Promise<readonly ShownEvent<E>[]> {
  const { hidesPersons, hidesCosts } = reader.sight
  const isSeen = await seenSubjects(reader, [...new Set(events.map(({ subject }) => subject))])
  return events.map((event) => {
    if (!isSeen(event.subject)) return { ...event, data: {}, isHidden: true }
    const data = hidesPersons ? maskPersonalData(event, readModel.personalFields(event), MASKED) : event.data
    return { ...event, data: hidesCosts ? maskCosts(data) : data, isHidden: false }
  })
}

/** Tables by whose rules events are shown; those of stock movements have no document. */
const TABLE_OF_KIND: Readonly<Partial<Record<string, readonly [table: string, column: string]>>> = {
  ...RECORD_ROWS,
  stock_movement: ['stock_movements', 'id'],
}

/** Which subjects the reader's role sees: by the rule of the record's table, row by row if that has a condition. */
async function seenSubjects(reader: Reader, subjects: readonly string[]): Promise<(subject: string) => boolean> {
  const hidden = new Set<string>()
  for (const [kind, [table, column] = ['', '']] of Object.entries(TABLE_OF_KIND)) {
    const named = subjects.filter((subject) => subject.startsWith(`${kind}/`))
    if (named.length === 0 || !reader.hidesRows(table)) continue
    const { rows } = await reader.query<{ id: number }>({
      name: `seen_${kind}`,
      text: `select t.${column} as id from ${markTable(table)} t where t.company_id = $1 and t.${column} = any($2::bigint[])`,
      values: [named.map((subject) => parseSubject(subject).id)],
    })
    const seen = new Set(rows.map(({ id }) => `${kind}/${id}`))
    for (const subject of named) if (!seen.has(subject)) hidden.add(subject)
  }
  return (subject) => !hidden.has(subject)
}

/** The read-model row of a record, deleted or not; null if the company never had it. */
export async function getRow(reader: Reader, kind: RecordKind, id: number): Promise<Record<string, unknown> | null> {
  const place = RECORD_ROWS[kind]
  if (!place) return null
  const [table, column] = place
  const isCompany = column === 'company_id'
  if (isCompany && id !== reader.companyId) return null
  const { rows } = await reader.query<{ doc: Record<string, unknown> }>({
    name: `get_row_${kind}`,
    text: `select t.doc from ${markTable(table)} t where t.company_id = $1${isCompany ? '' : ` and t.${column} = $2::bigint`}`,
    values: isCompany ? [] : [id],
    readSet: { [table]: [id] },
  })
  return rows[0]?.doc ?? null
}

/** Names by actor: `user/3`, `api_key/7`. */
export async function listActors(reader: Reader, actors: readonly string[]): Promise<Map<string, string>> {
  const users = idsOf('user/', actors)
  const api_keys = idsOf('api_key/', actors)
  const statement = {
    name: 'list_actors',
    text: `select 'user/' || u.id as actor, u.doc->>'name' as name from ${t.users} u
           where u.company_id = $1 and u.id = any($2::bigint[])
           union all
           select 'api_key/' || k.id, 'Chave ' || (k.doc->>'name') from ${t.api_keys} k
           where k.company_id = $1 and k.id = any($3::bigint[])`,
    values: [users, api_keys],
    readSet: { users, api_keys },
  }
  const { rows } = await reader.query<{ actor: string; name: string }>(statement)
  return new Map(rows.map(({ actor, name }) => [actor, name]))
}

/** Kinds of records that have a name, with its place: accounts are named by what they are for. */
const NAMED = [
  ['customer', 'customers', 'name'],
  ['supplier', 'suppliers', 'name'],
  ['catalog_item', 'catalog_items', 'name'],
  ['category', 'categories', 'name'],
  ['payment_type', 'payment_types', 'name'],
  ['user', 'users', 'name'],
  ['api_key', 'api_keys', 'name'],
  ['receivable', 'receivables', 'description'],
  ['payable', 'payables', 'description'],
] as const

/** Names of records by subject: `customer/8` is Maria. */
export async function listSubjectNames(reader: Reader, subjects: readonly string[]): Promise<Map<string, string>> {
  const ids = NAMED.map(([kind]) => idsOf(`${kind}/`, subjects))
  if (ids.every((some) => some.length === 0)) return new Map()
  const statement = {
    name: 'list_subject_names',
    text: NAMED.map(
      (
        [kind, table, member],
        at,
      ) => `select '${kind}/' || t.id as subject, t.doc->>'${member}' as name from ${t[table]} t
        where t.company_id = $1 and t.id = any($${at + 2}::bigint[])`,
    ).join(' union all '),
    values: ids,
    readSet: Object.fromEntries(NAMED.map(([, table], at) => [table, ids[at] ?? []])),
  }
  const { rows } = await reader.query<{ subject: string; name: string | null }>(statement)
  return new Map(rows.flatMap(({ subject, name }) => (name ? [[subject, name]] : [])))
}

/** Users and keys of a company as actors, newest keys first, up to `limit` of each. */
export async function listKnownActors(reader: Reader, limit: number): Promise<string[]> {
  const { rows } = await reader.query<{ actor: string }>({
    name: 'list_known_actors',
    text: `(select 'user/' || u.id as actor from ${t.users} u where u.company_id = $1 order by u.id limit $2)
           union all
           (select 'api_key/' || k.id from ${t.api_keys} k where k.company_id = $1 order by k.id desc limit $2)`,
    values: [limit],
  })
  return rows.map(({ actor }) => actor)
}

const idsOf = (prefix: string, actors: readonly string[]): number[] =>
  actors.filter((actor) => actor.startsWith(prefix)).map((actor) => Number(actor.slice(prefix.length)))

/** Revision and time (UTC) of a company's read model. */
export interface ReadModelHead {
  readonly revision: number
  readonly last_recorded_at: string
  readonly timezone: string
}

export async function readModelHead(reader: Reader): Promise<ReadModelHead> {
  const { rows } = await reader.query<ReadModelHead>({
    name: 'ledger_head',
    text: `select l.revision, l.last_recorded_at, c.timezone
           from ${t.ledgers} l join ${t.companies} c on c.company_id = l.company_id
           where l.company_id = $1`,
  })
  if (!rows[0]) throw new Error(`company ${reader.companyId} is not registered`)
  return rows[0]
}

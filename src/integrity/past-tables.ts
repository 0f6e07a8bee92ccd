import pg, { type PoolClient, type QueryResult, type QueryResultRow } from 'pg'
import { type Envelope, streamName } from '#ledger/command.ts'
import { type EventReader, pickNewest } from '#ledger/port.ts'
import { type Handler, READ_SCHEMA } from '#ledger/projection.ts'
import { type AnyRef, type AnyTable, copyLines, copyStatement, pastColumns, tableDdl } from '#ledger/table.ts'
import type { Changes, RowPast } from '#ledger/working-set.ts'
import { groupBy } from '#lib/collections.ts'
import { Unavailable } from '#lib/errors.ts'
import { columnAt, columnReaders, type RowsTogether } from '#postgres/row-bytes.ts'
import { transactionOn } from '#postgres/transaction.ts'
import type { ReadSource, SentScope, SentStatement } from '#queries/reader.ts'

export type PastRow = Record<string, unknown>

/** History columns of a present row. */
export interface RowChange {
  readonly id: number
  readonly revision: number
  readonly past_revisions: readonly number[] | null
}

/** Version chain of a row: the events (ascending) that produce its past state from a stored state, or from nothing. */
interface Course {
  readonly id: number
  readonly state: PastRow | null
  readonly revisions: readonly number[]
}

/** A company's ledger up to a revision. */
interface Ledger extends EventReader {
  readonly companyId: number
  readonly revision: number
  /** Upper bound of the times of its events; null if a clock correction makes times unreliable. */
  readonly until: string | null
  /** Aborts the work in progress. */
  readonly signal: AbortSignal
}

/** Builds version chains from the rows' history columns and their stored history. */
export async function buildVersionChains(
  client: PoolClient,
  { companyId, revision }: Ledger,
  table: AnyTable,
  rows: readonly RowChange[],
): Promise<Course[]> {
  const found = await client.query<RowPast>({
    name: 'row_histories',
    text: ROW_PASTS,
    values: [companyId, table.name, rows.map(({ id }) => id), revision],
  })
  const kept = groupBy(found.rows, ({ row_id }) => row_id)
  return rows.map(({ id, revision: last, past_revisions }) => {
    const parts = kept.get(id) ?? []
    const base = parts.findLast((part) => part.state !== null)
    const revisions = [...parts.flatMap((part) => part.revisions), ...(past_revisions ?? []), last]
    const after = base?.revision ?? -1
    return {
      id,
      state: (base?.state as PastRow | undefined) ?? null,
      revisions: revisions.filter((each) => each > after && each <= revision),
    }
  })
}

/**
 * Selects from the last stored state before the revision to the section with the revision. `offset 0` makes Postgres
 * find these bounds first instead of reading the whole history.
 */
const ROW_PASTS = `select p.row_id, p.revision, p.revisions, case when p.revision <= $4 then p.state end as state
  from unnest($3::bigint[]) as wanted(id)
  left join lateral (
    select s.revision from ${READ_SCHEMA}.row_histories s
    where s.company_id = $1 and s.table_name = $2 and s.row_id = wanted.id and s.revision <= $4 and s.state is not null
    order by s.revision desc limit 1) first on true
  left join lateral (
    select n.revision from ${READ_SCHEMA}.row_histories n
    where n.company_id = $1 and n.table_name = $2 and n.row_id = wanted.id and n.revision > $4
    order by n.revision limit 1) last on true
  cross join lateral (
    select * from ${READ_SCHEMA}.row_histories p
    where p.company_id = $1 and p.table_name = $2 and p.row_id = wanted.id
      and p.revision between coalesce(first.revision, 0) and coalesce(last.revision, $4)
    offset 0) p
  order by p.row_id, p.revision`

/** The row that every projection may read (`base`), at any revision. */
interface BaseRow {
  readonly ref: AnyRef
  at(revision: number): PastRow | null
}

/** Reconstructs the row of `base` at each of its revisions. */
export async function rebuildBaseRows(client: PoolClient, ledger: Ledger): Promise<BaseRow> {
  const { companyId, model } = ledger
  const [ref] = model.base
  if (!ref?.table.past) throw new Error('a read model has a row that all projections read')
  const { rows } = await client.query<RowChange>({
    name: `base_${ref.table.name}`,
    text: `select ${ref.table.past.id} as id, revision, past_revisions from ${READ_SCHEMA}.${ref.table.name} where company_id = $1`,
    values: [companyId],
  })
  const states: { revision: number; row: PastRow }[] = []
  const base: BaseRow = {
    ref,
    at: (at) => states.findLast((state) => state.revision <= at)?.row ?? null,
  }
  const courses = await buildVersionChains(client, ledger, ref.table, rows)
  await reconstruct(ledger, ref.table, courses, base, (at, remade) => {
    const row = remade.get(companyId)?.row
    if (row) states.push({ revision: at, row })
  })
  return base
}

interface Remade extends Course {
  row: PastRow | null
  /** Index in `revisions` of the next event. */
  next: number
}

/** Reconstructs past rows of one table. @throws if the ledger's events do not match the rows' history. */
export async function reconstruct(
  ledger: Ledger,
  table: AnyTable,
  courses: readonly Course[],
  base: BaseRow,
  onEvent: (revision: number, rows: ReadonlyMap<number, Readonly<Remade>>) => void = () => {},
): Promise<PastRow[]> {
  const { model, companyId, signal } = ledger
  const remade = new Map(courses.map((course) => [course.id, { ...course, row: course.state, next: 0 }]))
  const work = createChanges(table, remade, companyId, base)
  const handlers = model.projections.filter(({ tables }) => tables.includes(table))
  const revisions = [...new Set(courses.flatMap((course) => course.revisions))].sort((a, b) => a - b)
  for await (const event of pickNewest(ledger, streamName(companyId), revisions)) {
    signal.throwIfAborted()
    work.begin(event.revision)
    for (const { on } of handlers) (on[event.type] as Handler | undefined)?.apply(work.changes, event)
    work.end()
    onEvent(event.revision, remade)
  }
  return [...remade.values()].map(({ id, row, next, revisions: all }) => {
    if (!row || next < all.length) throw new Error(`${table.name} ${id} is not what event ${all[next]} made of it`)
    return row
  })
}

/** Changes restricted to the rows with the current event in their version chain; other changes are ignored. */
function createChanges(table: AnyTable, remade: ReadonlyMap<number, Remade>, companyId: number, base: BaseRow) {
  const idColumn = table.past?.id ?? ''
  const touched = new Set<Remade>()
  let revision = -1
  const wanted = (id: unknown): Remade | null => {
    const one = remade.get(id as number)
    return one && one.revisions[one.next] === revision ? one : null
  }
  const idOf = (ref: AnyRef): unknown => ref.values.at(-1) ?? companyId
  const put = (of: AnyTable, row: unknown) => {
    const one = of === table ? wanted((row as PastRow)[idColumn]) : null
    if (!one) return
    one.row = row as PastRow
    touched.add(one)
  }
  const changes: Changes = {
    get<R>(ref: AnyRef): Readonly<R> | null {
      // Unique keys have no effect on past states.
      if (ref.by !== 'pk') return null
      if (ref.table !== table) return base.at(revision) as R | null
      return (wanted(idOf(ref))?.row ?? null) as R | null
    },
    add: put,
    put,
    wants: (ref: AnyRef) => ref.table !== table || wanted(idOf(ref)) !== null,
  }
  return {
    changes,
    begin(next: number) {
      revision = next
    },
    end() {
      for (const one of touched) one.next += 1
      touched.clear()
    },
  }
}

/** Rows reconstructed, and held in memory, at once. */
const BATCH_ROWS = 500

/**
 * A company's past tables. A table is prepared when a statement first names it, limited to the statement's read set.
 */
export interface PastTables {
  /** Reads these tables only. */
  readonly source: ReadSource
  /** The company's past row. */
  readonly company: PastRow
}

/** A table with history. */
interface PastTable {
  readonly table: AnyTable
  readonly idColumn: string
  /** Columns without those that past states lack. */
  readonly columns: readonly string[]
  /** Temporary table of the reconstructed rows. */
  readonly remade: AnyTable
  /** Whether this temporary table exists. */
  isRemade: boolean
  /**
   * Scope of the reconstructed rows: all that have changed since; those with changes outside the hot columns; or the
   * requested ids.
   */
  has: 'asked' | 'columns' | 'all'
  /** Ids already requested. */
  readonly asked: Set<number>
  /** Definition of the present view. */
  shows: string
}

/**
 * Opens the past on its own connection, in one repeatable-read transaction. The search path has temporary tables only:
 * they end with the connection, and a statement that needs a present table fails.
 */
export async function openPast(client: PoolClient, ledger: Ledger, last: Envelope): Promise<PastTables> {
  const [{ table }] = ledger.model.base as [AnyRef]
  // Keeps a rebuild from replacing the tables during the transaction.
  await client.query(`begin isolation level repeatable read; set local search_path = pg_temp; set local jit = off;
    lock table ${READ_SCHEMA}.${table.name} in access share mode`)
  const { rows } = await client.query<{ version: string }>('select version from ops.read_model')
  if (rows[0]?.version !== ledger.model.version) throw new Unavailable('the read model has another version')
  const base = await openBase(client, ledger, last)
  const tables = ledger.model.projections.flatMap((projection) => projection.tables).filter(({ past }) => past)
  const past = tables.filter((table) => table !== base.ref.table).map(pastTableOf)
  const looker = { client, ledger, base, tables: past }
  let turn: Promise<unknown> = Promise.resolve()
  /** Runs statements one after the other, because each may first have to reconstruct its rows. */
  const send = <R extends QueryResultRow>(statement: SentStatement): Promise<QueryResult<R>> => {
    const answer = turn.then(() => ask<R>(looker, statement))
    turn = answer.catch(() => {})
    return answer
  }
  return { source: { isPast: true, send }, company: base.at(ledger.revision) as PastRow }
}

/** Creates the ledger's position and the company's row, which every statement and every projection may read. */
async function openBase(client: PoolClient, ledger: Ledger, last: Envelope): Promise<BaseRow> {
  const { companyId, revision } = ledger
  const base = await rebuildBaseRows(client, ledger)
  const now = base.at(revision)
  if (!now) throw new Error(`company ${companyId} is not registered`)
  const { remade, table } = pastTableOf(base.ref.table)
  const company = { ...remade, name: table.name }
  await client.query(`${tableDdl(company, 'pg_temp')}
    create temp table ledgers as select ${companyId}::bigint as company_id, ${revision}::bigint as revision,
      ${revision}::bigint as reacted_revision, ${pg.escapeLiteral(last.hash)}::text as hash,
      ${pg.escapeLiteral(last.recorded_at)}::timestamptz as last_recorded_at`)
  await keep(client, company, [now])
  return base
}

function pastTableOf(table: AnyTable): PastTable {
  const { name, past } = table
  const kept = pastColumns(table)
  return {
    table,
    idColumn: past?.id ?? '',
    columns: Object.keys(kept),
    remade: {
      name: `past_${name}`,
      global: false,
      columns: past?.hot ? { ...kept, columns_revision: 'bigint' } : kept,
      keys: { pk: table.keys.pk },
      indexes: [],
    },
    isRemade: false,
    has: 'asked',
    asked: new Set(),
    shows: '',
  }
}

const keep = (client: PoolClient, table: AnyTable, rows: readonly PastRow[]): Promise<void> =>
  transactionOn(client).copy(copyStatement(table), copyLines(table, rows))

/** Context of the reconstruction. */
interface Looker {
  readonly client: PoolClient
  readonly ledger: Ledger
  readonly base: BaseRow
  readonly tables: readonly PastTable[]
}

/** Answers a statement from the past state after preparing its read set. */
async function ask<R extends QueryResultRow>(
  looker: Looker,
  { readSet: looks = {}, tables: read, ...query }: SentStatement,
): Promise<QueryResult<R>> {
  const { client, ledger, tables } = looker
  const named = tables.filter(({ table }) => read.includes(table.name))
  for (const one of named) {
    const look = looks[one.table.name]
    await prepare(looker, one, look)
    await show(looker, one, isByColumns(one, look))
  }
  ledger.signal.throwIfAborted()
  const answer = await client.query<R>(query)
  let isOther = false
  for (const one of named) {
    if (looks[one.table.name] !== 'answered' || !isByColumns(one, 'answered')) continue
    if (!(await remakeRows(looker, one, idsIn(answer)))) continue
    await show(looker, one, true)
    isOther = true
  }
  return isOther ? client.query<R>(query) : answer
}

/** Ids in a result, from rows or from raw bytes of rows. */
function idsIn({ fields, rows }: QueryResult): number[] {
  const position = fields.findIndex(({ name }) => name === 'key_id')
  if (position < 0) return []
  return rows.flatMap((row: RowsTogether | { key_id: number | null }) => {
    if ('key_id' in row) return row.key_id ?? []
    return row[0].flatMap((bytes) => {
      const id = columnAt(bytes, position)
      return id ? columnReaders.bigint(id) : []
    })
  })
}

/** Whether the statement accepts rows with changes in hot columns only. */
const isByColumns = ({ table, has }: PastTable, look: SentScope | undefined): boolean =>
  table.past?.hot !== undefined && has !== 'all' && (look === 'columns' || look === 'answered')

/** Reconstructs the statement's read set of a table before the statement runs. */
async function prepare(looker: Looker, one: PastTable, look: SentScope | undefined): Promise<void> {
  if (one.table.past?.isFixed || one.has === 'all') return
  if (isByColumns(one, look)) {
    if (one.has === 'columns') return
    await remakeRows(looker, one, 'columns')
    one.has = 'columns'
  } else if (look === undefined || typeof look === 'string') {
    await remakeRows(looker, one, 'all')
    one.has = 'all'
  } else if ('text' in look) {
    const { rows } = await ask<{ id: number }>(looker, look)
    await remakeRows(
      looker,
      one,
      rows.map(({ id }) => id),
    )
  } else await remakeRows(looker, one, look)
}

/**
 * Reconstructs changed rows: those with these ids, those with changes outside the hot columns, or all. Returns whether
 * it added any.
 */
async function remakeRows(
  { client, ledger, base }: Looker,
  one: PastTable,
  which: readonly number[] | 'columns' | 'all',
): Promise<boolean> {
  const ids = typeof which === 'string' ? null : which.filter((id) => !one.asked.has(id))
  if (ids?.length === 0) return false
  await client.query(`declare changed no scroll cursor for ${changedSince(one, ledger, which === 'columns', ids)}`)
  let made = 0
  for (;;) {
    ledger.signal.throwIfAborted()
    const { rows } = await client.query<RowChange>(`fetch ${BATCH_ROWS} from changed`)
    if (rows.length > 0 && !one.isRemade) {
      await client.query(tableDdl(one.remade, 'pg_temp'))
      one.isRemade = true
    }
    if (rows.length > 0) {
      const courses = await buildVersionChains(client, ledger, one.table, rows)
      await keep(client, one.remade, await reconstruct(ledger, one.table, courses, base))
    }
    made += rows.length
    if (rows.length < BATCH_ROWS) break
  }
  await client.query('close changed')
  if (made >= BATCH_ROWS) await client.query(`analyze pg_temp.${one.remade.name}`)
  for (const id of ids ?? []) one.asked.add(id)
  return made > 0
}

/** SQL of the rows that existed at the time and have changed since, without those already reconstructed. */
function changedSince(
  { table, idColumn, remade, isRemade }: PastTable,
  { companyId, revision }: Ledger,
  inColumns: boolean,
  ids: readonly number[] | null,
): string {
  const conditions = [
    `t.company_id = ${companyId}`,
    `t.revision > ${revision} and t.first_revision <= ${revision} and t.first_revision < t.revision`,
    ...(inColumns ? [`t.columns_revision > ${revision}`] : []),
    ...(ids ? [`t.${idColumn} = any('{${ids.map(Number).join()}}'::bigint[])`] : []),
    ...(isRemade ? [`not exists (select from pg_temp.${remade.name} p where p.${idColumn} = t.${idColumn})`] : []),
  ]
  return `select t.${idColumn} as id, t.revision, t.past_revisions from ${READ_SCHEMA}.${table.name} t where ${conditions.join(' and ')}`
}

/**
 * Creates the table's view: unchanged rows and reconstructed ones. Neither part has conditions of its own, so that
 * Postgres flattens the union and walks both indexes in list order. `byColumns` also accepts rows with later changes in
 * hot columns only.
 */
async function show({ client, ledger }: Looker, one: PastTable, byColumns: boolean): Promise<void> {
  const { table, columns, idColumn, remade, asked, isRemade } = one
  const { companyId, revision, until } = ledger
  const names = columns.join(', ')
  const all = table.past?.hot ? `${names}, columns_revision` : names
  const live = `select ${all} from ${READ_SCHEMA}.${table.name}`
  // Redundant, but lists use an index on the time that can skip most later rows.
  const inTime =
    until === null || table.past?.isFixed ? '' : ` and u.changed_at <= ${pg.escapeLiteral(until)}::timestamptz`
  const asThen = `u.revision <= ${revision}${inTime}`
  const others = `u.${idColumn} <> all('{${[...asked].join()}}'::bigint[])`
  const valid = byColumns ? `(u.revision <= ${revision} or u.columns_revision <= ${revision} and ${others})` : asThen
  const shows = `select ${names} from (${live}${isRemade ? ` union all select ${all} from pg_temp.${remade.name}` : ''}) u
    where u.company_id = ${companyId} and ${valid}`
  if (one.shows === shows) return
  await client.query(`create or replace temp view ${table.name} as ${shows}`)
  one.shows = shows
}

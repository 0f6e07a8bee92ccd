import pg, { type Pool, type PoolClient, type QueryConfig, type QueryResult } from 'pg'
import type { Envelope } from '#ledger/envelope.ts'
import { READ_SCHEMA } from '#ledger/projection.ts'
import { type AnyTable, copyLines, copyStatement, LINEAGE, tableDdl } from '#ledger/table.ts'
import { transactionOn } from '#ledger/transaction.ts'
import type { Look, Looking } from '#queries/looking.ts'
import { type BaseRow, type Changed, coursesOf, type Ledger, type Row, remake } from './past-rows.ts'

/** Rows that are made again at a time, and so held in memory. */
const BATCH_ROWS = 500

/** The tables of a company as they were: each only when a statement names it, and as much of it as the statement looks at. */
export interface PastTables {
  /** Sees these tables, and nothing else. */
  readonly pool: Pool
  /** The company's row of then. */
  readonly company: Row
}

/** A table that can be looked back at. */
interface PastTable {
  readonly table: AnyTable
  readonly idColumn: string
  /** Its columns, but for those that no past state has. */
  readonly columns: readonly string[]
  /** Where rows are kept that are not now what they were then. */
  readonly remade: AnyTable
  readonly mentioned: RegExp
  isOpen: boolean
  /** All rows that have changed since are there; or those of which more than `doc` has. */
  has: 'asked' | 'columns' | 'all'
  /** Those that were asked for by their ids. */
  readonly asked: Set<number>
  /** What its view shows. */
  shows: string
}

/**
 * Opens the past on a connection of its own, in a transaction whose snapshot everything is read in. Temporary names go before
 * all others and are the only ones: they end with the connection, and a statement that needs a table of now fails.
 */
export async function openPast(client: PoolClient, ledger: Ledger, last: Envelope): Promise<PastTables> {
  await client.query('begin isolation level repeatable read; set local search_path = pg_temp; set local jit = off')
  const base = await openBase(client, ledger, last)
  const tables = ledger.model.projections.flatMap((projection) => projection.tables).filter(({ past }) => past)
  const past = tables.filter((table) => table !== base.ref.table).map(pastTableOf)
  const ask = (query: Partial<Looking> & QueryConfig) => askPast(client, ledger, past, base, query)
  let turn: Promise<unknown> = Promise.resolve()
  /** One after the other: each may have to make what it looks at first. */
  const query = (text: string | QueryConfig, values?: unknown[]): Promise<QueryResult> => {
    const asked = typeof text === 'string' ? { text, ...(values && { values }) } : text
    const answer = turn.then(() => ask(asked))
    turn = answer.catch(() => {})
    return answer
  }
  return { pool: { query } as unknown as Pool, company: base.at(ledger.revision) as Row }
}

/** The ledger's position and the company's row, which every statement and every projection may look at. */
async function openBase(client: PoolClient, ledger: Ledger, last: Envelope): Promise<BaseRow> {
  const { companyId, revision, model } = ledger
  const [ref] = model.base
  if (!ref?.table.past) throw new Error('a read model has a row that all projections read')
  const { rows } = await client.query<Changed>(
    `select ${ref.table.past.id} as id, revision, past_revisions from ${READ_SCHEMA}.${ref.table.name} where company_id = $1`,
    [companyId],
  )
  const states: { revision: number; row: Row }[] = []
  const base: BaseRow = {
    ref,
    at: (at) => states.findLast((state) => state.revision <= at)?.row ?? null,
  }
  const courses = await coursesOf(client, ledger, ref.table, rows)
  await remake(ledger, ref.table, courses, base, (at, remade) => {
    const row = remade.get(companyId)?.row
    if (row) states.push({ revision: at, row })
  })
  const now = base.at(revision)
  if (!now) throw new Error(`company ${companyId} is not registered`)
  const { remade } = pastTableOf(ref.table)
  const company = { ...remade, name: ref.table.name }
  await client.query(`${tableDdl(company, 'pg_temp')}
    create temp table ledgers as select ${companyId}::bigint as company_id, ${revision}::bigint as revision,
      ${revision}::bigint as reacted_revision, ${pg.escapeLiteral(last.hash)}::text as hash,
      ${pg.escapeLiteral(last.recorded_at)}::timestamptz as last_recorded_at`)
  await keep(client, company, [now])
  return base
}

function pastTableOf(table: AnyTable): PastTable {
  const { name, past } = table
  const hidden: readonly string[] = [...(past?.without ?? []), ...Object.keys(LINEAGE)]
  const columns = Object.keys(table.columns).filter((column) => !hidden.includes(column))
  const kept = Object.fromEntries(columns.map((column) => [column, table.columns[column]]))
  return {
    table,
    idColumn: past?.id ?? '',
    columns,
    remade: {
      name: `past_${name}`,
      global: false,
      columns: { ...kept, columns_revision: LINEAGE.columns_revision },
      keys: { pk: table.keys.pk },
      indexes: [],
    },
    mentioned: new RegExp(`\\b${name}\\b`),
    isOpen: false,
    has: 'asked',
    asked: new Set(),
    shows: '',
  }
}

const keep = (client: PoolClient, table: AnyTable, rows: readonly Row[]): Promise<void> =>
  transactionOn(client).copy(
    copyStatement(table),
    copyLines(
      table,
      rows.map((row) => ({ ...row, columns_revision: 0 })),
    ),
  )

async function askPast(
  client: PoolClient,
  ledger: Ledger,
  past: readonly PastTable[],
  base: BaseRow,
  { looks = {}, ...query }: Partial<Looking> & QueryConfig,
): Promise<QueryResult> {
  const named = past.filter(({ mentioned }) => mentioned.test(query.text))
  const make: Make = (one, which) => remakeRows(client, ledger, one, base, which)
  for (const one of named) {
    const look: Look | undefined = looks[one.table.name]
    await prepare(one, look, make, (asked) => askPast(client, ledger, past, base, asked))
    await show(client, ledger, one, look === 'columns' || look === 'answered')
  }
  ledger.signal.throwIfAborted()
  const answer = await client.query(query)
  const answered = named.filter(({ table }) => looks[table.name] === 'answered')
  let isOther = false
  for (const one of answered) {
    const ids = answer.rows.flatMap(({ key_id }: { key_id?: unknown }) => (typeof key_id === 'number' ? [key_id] : []))
    if (await make(one, ids)) isOther = true
    await show(client, ledger, one, true)
  }
  return isOther ? client.query(query) : answer
}

/** Makes rows that are not now what they were: those with these ids, those of which columns have changed, or all. Returns whether there were any. */
type Make = (one: PastTable, which: readonly number[] | 'columns' | 'all') => Promise<boolean>

/** Makes what a statement looks at of a table, before it is asked. */
async function prepare(
  one: PastTable,
  look: Look | undefined,
  make: Make,
  ask: (query: Looking) => Promise<QueryResult>,
): Promise<void> {
  if (one.table.past?.isFixed) return
  if (look === undefined) {
    if (one.has !== 'all') await make(one, 'all')
    one.has = 'all'
  } else if (look === 'columns' || look === 'answered') {
    if (one.has === 'asked') await make(one, 'columns')
    if (one.has === 'asked') one.has = 'columns'
  } else if ('text' in look) {
    const { rows } = await ask(look)
    await make(
      one,
      rows.map(({ id }: { id: number }) => id),
    )
  } else await make(one, look)
}

async function remakeRows(
  client: PoolClient,
  ledger: Ledger,
  one: PastTable,
  base: BaseRow,
  which: Parameters<Make>[1],
): Promise<boolean> {
  const { table, idColumn, remade, asked } = one
  if (table.past?.isFixed || one.has === 'all') return false
  const ids = typeof which === 'string' ? null : which.filter((id) => !asked.has(id))
  if (ids?.length === 0) return false
  await open(client, one)
  const { companyId, revision } = ledger
  const wanted = [
    `t.company_id = ${companyId}`,
    `t.revision > ${revision} and t.first_revision <= ${revision} and t.first_revision < t.revision`,
    ...(which === 'columns' ? [`t.columns_revision > ${revision}`] : []),
    ...(ids ? [`t.${idColumn} = any('{${ids.map(Number).join()}}'::bigint[])`] : []),
    `not exists (select from pg_temp.${remade.name} p where p.company_id = t.company_id and p.${idColumn} = t.${idColumn})`,
  ]
  await client.query(`declare changed no scroll cursor for
    select t.${idColumn} as id, t.revision, t.past_revisions from ${READ_SCHEMA}.${table.name} t where ${wanted.join(' and ')}`)
  let made = 0
  for (;;) {
    ledger.signal.throwIfAborted()
    const { rows } = await client.query<Changed>(`fetch ${BATCH_ROWS} from changed`)
    if (rows.length > 0) {
      const courses = await coursesOf(client, ledger, table, rows)
      await keep(client, remade, await remake(ledger, table, courses, base))
    }
    made += rows.length
    if (rows.length < BATCH_ROWS) break
  }
  await client.query('close changed')
  if (made >= BATCH_ROWS) await client.query(`analyze pg_temp.${remade.name}`)
  for (const id of ids ?? []) asked.add(id)
  return made > 0
}

async function open(client: PoolClient, one: PastTable): Promise<void> {
  if (!one.isOpen) await client.query(tableDdl(one.remade, 'pg_temp'))
  one.isOpen = true
}

/**
 * Gives a table its name: the rows that are now what they were then, and those that were made again. Both without conditions
 * of their own, so that Postgres takes them for parts of one table and walks the indexes of both in the order of a list. By
 * columns a row is also what it was where no more than its `doc` has changed since.
 */
async function show(
  client: PoolClient,
  { companyId, revision }: Ledger,
  one: PastTable,
  byColumns: boolean,
): Promise<void> {
  const { table, columns, idColumn, remade, asked, has } = one
  const live = `${READ_SCHEMA}.${table.name}`
  const asThen = `u.revision <= ${revision}`
  const names = columns.join(', ')
  let shows: string
  if (table.past?.isFixed) shows = `select ${names} from ${live} u where u.company_id = ${companyId} and ${asThen}`
  else {
    await open(client, one)
    const others = `u.${idColumn} <> all('{${[...asked].join()}}'::bigint[])`
    const valid = byColumns && has !== 'all' ? `(${asThen} or u.columns_revision <= ${revision} and ${others})` : asThen
    shows = `select ${names} from (
        select ${names}, columns_revision from ${live} union all select ${names}, columns_revision from pg_temp.${remade.name}
      ) u where u.company_id = ${companyId} and ${valid}`
  }
  if (one.shows === shows) return
  await client.query(`create or replace temp view ${table.name} as ${shows}`)
  one.shows = shows
}

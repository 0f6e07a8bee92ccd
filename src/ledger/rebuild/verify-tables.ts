import type { Pool, PoolClient } from 'pg'
import { tryAdvisoryLock } from '#postgres/advisory-lock.ts'
import { inTransactionOn, transactionOn } from '#postgres/transaction.ts'
import { streamOf } from '../envelope.ts'
import { READ_SCHEMA, type Rollup } from '../projection.ts'
import { type EventReader, readNewest } from '../reading.ts'
import { type AnyTable, type ColumnType, tableDdl } from '../table.ts'
import { REBUILD_LOCK } from './rebuild.ts'
import { paced, type ReplayPace, replay } from './replay.ts'

export interface VerifyTablesOptions extends EventReader {
  /** Lends one connection, without a statement time-out, which is not used again. */
  readonly pool: Pool
  readonly pace?: ReplayPace
  /** Whether it leaves it to another process that verifies tables already. */
  readonly yields?: boolean
}

/** A row that is not what the ledger says, without its values: they may be about people. */
export interface RowDifference {
  readonly table: string
  /** The primary key, the company aside. */
  readonly key: Readonly<Record<string, string | number>>
  /** `missing`: the ledger makes a row that is not there. `unknown`: a row that no event has made. */
  readonly found: 'missing' | 'unknown' | 'changed'
  /** Columns that differ, of documents their members (`doc.price`); empty unless `changed`. */
  readonly fields: readonly string[]
}

/** `busy`: another process verifies or rebuilds. `other_version`: the tables are not this program's. */
export type TablesVerification =
  | {
      readonly kind: 'verified'
      /** Of the ledger, -1 where it is empty: tables and replay were compared as of it. */
      readonly revision: number
      /** The first ROWS_TOLD of each table. */
      readonly differences: readonly RowDifference[]
    }
  | { readonly kind: 'busy' | 'other_version' }

/** One verification that yields at a time, over all processes. */
const VERIFICATION_LOCK = 'tillbook verification of tables'
/** Events that are applied at a stretch: memory is bounded by it, and so is what waits for a pause. */
const PORTION_EVENTS = 5_000
/** So few events are applied while a snapshot is held, which keeps Postgres from clearing up. */
const NEARLY_DONE = 500
/** Rows that differ and are told of, of each table: the first tell what happened. */
const ROWS_TOLD = 20

/**
 * Compares all rows that a company has in the tables with those that its ledger makes, as of one revision. The ledger is replayed
 * into temporary tables while nothing is held; the last events are applied, and the rows compared, in one snapshot. Postgres
 * walks both tables side by side, so that memory does not grow with the company.
 */
export async function verifyTables(options: VerifyTablesOptions, companyId: number): Promise<TablesVerification> {
  const client = await options.pool.connect()
  try {
    if (options.yields && !(await tryAdvisoryLock(client, VERIFICATION_LOCK))) return { kind: 'busy' }
    return await verifyOn(client, options, companyId)
  } finally {
    // At once: a connection that has many temporary rows to drop takes its time to end.
    await client.query('rollback; select pg_catalog.pg_advisory_unlock_all()').catch(() => {})
    client.release(true)
  }
}

/** Every name means a temporary table, unless it says its schema. */
const SETTINGS = `set temp_buffers = '32MB'; set search_path = pg_temp; set jit = off;`

async function verifyOn(
  client: PoolClient,
  options: VerifyTablesOptions,
  companyId: number,
): Promise<TablesVerification> {
  const { model, pace } = options
  const tables = model.projections.flatMap((projection) => [...projection.tables])
  await client.query([SETTINGS, ...tables.map((table) => tableDdl(table, 'pg_temp'))].join('\n'))
  const work: Work = { client, options, companyId, done: -1, began: null }
  for (let passes = 0; ; passes++) {
    const head = await headOf(client, companyId)
    work.began ??= head.revision
    if (head.version !== model.version) return { kind: 'other_version' }
    if (passes > 0 && head.revision - work.done <= NEARLY_DONE) break
    // What came meanwhile is applied without pauses: a company that never rests would not be caught up with.
    await replayTo(work, head.revision, passes === 0 ? pace : undefined)
  }
  await client.query(`analyze ${tables.map(({ name }) => `pg_temp.${name}`).join(', ')}`)
  // Nobody may put other tables in the place of those that are read.
  if (!(await tryAdvisoryLock(client, REBUILD_LOCK, 'shared'))) return { kind: 'busy' }
  return compareNow(work)
}

interface Work {
  readonly client: PoolClient
  readonly options: VerifyTablesOptions
  readonly companyId: number
  /** Revision up to which events have been applied. */
  done: number
  /** Of the ledger when the first events were read; null before. */
  began: number | null
}

/** How far the tables have come, and the version that they are of. */
async function headOf(client: PoolClient, companyId: number): Promise<{ revision: number; version: string | null }> {
  const { rows } = await client.query<{ revision: number; version: string | null }>(
    `select l.revision, m.version from ops.read_model m left join ops.ledgers l on l.company_id = $1`,
    [companyId],
  )
  return { revision: rows[0]?.revision ?? -1, version: rows[0]?.version ?? null }
}

const BEGIN = `begin; set local enable_seqscan = off; set local enable_hashjoin = off;
  set local enable_mergejoin = off; set local plan_cache_mode = force_generic_plan`

/** Each portion is a transaction: a long one would keep Postgres from clearing up. Young tables are looked up by key. */
async function replayTo(work: Work, head: number, pace: ReplayPace | undefined): Promise<void> {
  while (work.done < head)
    await paced(pace, () =>
      inTransactionOn(work.client, () => apply(work, Math.min(head, work.done + PORTION_EVENTS)), BEGIN),
    )
}

async function apply(work: Work, upTo: number): Promise<void> {
  const { client, companyId, done } = work
  const { model } = work.options
  const events = readNewest(work.options, streamOf(companyId), done + 1)
  const applied = await replay(transactionOn(client), model, companyId, events, upTo, {
    ...(work.began !== null && { erasesAfter: work.began }),
  })
  if (applied !== upTo - done) throw new Error(`the ledger of company ${companyId} ends before its tables do`)
  work.done = upTo
}

async function compareNow(work: Work): Promise<TablesVerification> {
  const { client, companyId, options } = work
  await client.query('begin isolation level repeatable read')
  // The first statement takes the snapshot: position, version and rows are of one moment.
  const { revision, version } = await headOf(client, companyId)
  if (version !== options.model.version) return { kind: 'other_version' }
  if (work.done < revision) await apply(work, revision)
  const differences: RowDifference[] = []
  for (const { tables, grown } of options.model.projections) {
    if (grown) differences.push(...(await differencesGrown(client, grown, companyId)))
    else for (const table of tables) differences.push(...(await differencesOf(client, table, companyId)))
  }
  return { kind: 'verified', revision, differences }
}

interface DifferingRow {
  readonly is_live: boolean
  readonly is_replayed: boolean
  readonly fields: readonly string[]
  readonly documents: readonly (readonly [name: string, live: string | null, replayed: string | null])[]
  readonly key: Readonly<Record<string, string | number>>
}

async function differencesOf(client: PoolClient, table: AnyTable, companyId: number): Promise<RowDifference[]> {
  const { rows } = await client.query<DifferingRow>(comparisonOf(table), [companyId, ROWS_TOLD])
  return rows.map(({ is_live, is_replayed, fields, documents, key }) => {
    if (!is_live || !is_replayed) return { table: table.name, key, found: is_live ? 'unknown' : 'missing', fields: [] }
    const members = documents.flatMap(([name, live, replayed]) => membersThatDiffer(name, live, replayed))
    return { table: table.name, key, found: 'changed', fields: [...fields, ...members] }
  })
}

/** What was grown is compared with the tables that it was made of, which are compared with the ledger themselves. */
async function differencesGrown(client: PoolClient, grown: Rollup, companyId: number): Promise<RowDifference[]> {
  const { rows } = await client.query<RowDifference>(grown.differences(READ_SCHEMA), [companyId, ROWS_TOLD])
  return rows
}

/** Rows that are on one side only, or not the same on both; both sides come in the order of the primary key. */
function comparisonOf({ name, columns, keys }: AnyTable): string {
  const pk = keys.pk as readonly string[]
  const others = (Object.entries(columns) as [string, ColumnType][]).filter(([column]) => !pk.includes(column))
  const differ = (column: string, type: ColumnType) => {
    const text = type === 'json' ? '::text' : ''
    return `live.${column}${text} is distinct from replayed.${column}${text}`
  }
  const fields = others
    .filter(([, type]) => type !== 'json')
    .map(([column, type]) => `case when ${differ(column, type)} then '${column}' end`)
  const documents = others
    .filter(([, type]) => type === 'json')
    .map(
      ([column, type]) =>
        `case when ${differ(column, type)} then json_build_array('${column}', live.${column}::text, replayed.${column}::text) end`,
    )
  const isOther = others.map(([column, type]) => differ(column, type))
  const key = pk.filter((column) => column !== 'company_id').flatMap((column) => [`'${column}'`, column])
  return `
    select live.there is not null as is_live, replayed.there is not null as is_replayed,
      array_remove(array[${fields.join(', ')}]::text[], null) as fields,
      to_json(array_remove(array[${documents.map((document) => `(${document})::text`).join(', ')}]::text[], null)::json[]) as documents,
      json_build_object(${key.join(', ')}) as key
    from (select true as there, * from ${READ_SCHEMA}.${name} where company_id = $1) as live
    full join (select true as there, * from pg_temp.${name}) as replayed using (${pk.join(', ')})
    where live.there is null or replayed.there is null${isOther.map((each) => ` or ${each}`).join('')}
    limit $2`
}

/** Which members of a document differ; the whole one where that is not told by its members, as in their order. */
function membersThatDiffer(column: string, live: string | null, replayed: string | null): string[] {
  const [a, b] = [membersOf(live), membersOf(replayed)]
  if (!a || !b) return [column]
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])]
  const differing = names.filter((name) => JSON.stringify(a[name]) !== JSON.stringify(b[name]))
  return differing.length > 0 ? differing.map((name) => `${column}.${name}`) : [column]
}

function membersOf(text: string | null): Record<string, unknown> | null {
  const value: unknown = text === null ? null : JSON.parse(text)
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null
}

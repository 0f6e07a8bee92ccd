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
  /** Provides one connection without a statement time-out, which is closed afterwards. */
  readonly pool: Pool
  readonly pace?: ReplayPace
  /** Whether to skip the verification if another process runs one. */
  readonly yields?: boolean
}

/** A row that deviates from the ledger, without its values: they may be personal. */
export interface RowDifference {
  readonly table: string
  /** The primary key without the company. */
  readonly key: Readonly<Record<string, string | number>>
  /** `missing`: the ledger produces a row that is absent. `unknown`: no event produces the row. */
  readonly found: 'missing' | 'unknown' | 'changed'
  /** Columns that differ; for documents the members (`doc.price`). Empty unless `changed`. */
  readonly fields: readonly string[]
}

/**
 * `busy`: another process verifies or rebuilds. `other_version`: the tables belong to another version of the program.
 */
export type TablesVerification =
  | {
      readonly kind: 'verified'
      /** Ledger revision of the comparison; -1 for an empty ledger. */
      readonly revision: number
      /** The first ROWS_TOLD of each table. */
      readonly differences: readonly RowDifference[]
    }
  | { readonly kind: 'busy' | 'other_version' }

/** Lock for verifications that yield: one at a time across all processes. */
const VERIFICATION_LOCK = 'tillbook verification of tables'
/** Events per portion. Bounds memory and the wait for a pause. */
const PORTION_EVENTS = 5_000
/** Maximum number of events applied while a snapshot is held, because a snapshot blocks vacuum. */
const NEARLY_DONE = 500
/** Reported differences per table: the first ones show what happened. */
const ROWS_TOLD = 20

/**
 * Compares all rows of a company with those that its ledger produces, as of one revision. The ledger is replayed into
 * temporary tables without locks. The last events are applied and the rows compared in one snapshot. Postgres merges
 * both tables, so memory does not grow with the company.
 */
export async function verifyTables(options: VerifyTablesOptions, companyId: number): Promise<TablesVerification> {
  const client = await options.pool.connect()
  try {
    if (options.yields && !(await tryAdvisoryLock(client, VERIFICATION_LOCK))) return { kind: 'busy' }
    return await verifyOn(client, options, companyId)
  } finally {
    // Explicitly, because a connection with many temporary rows takes time to close.
    await client.query('rollback; select pg_catalog.pg_advisory_unlock_all()').catch(() => {})
    client.release(true)
  }
}

/** Unqualified names refer to temporary tables. */
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
    // Later passes run without pauses: otherwise they might never catch up with a company that writes all the time.
    await replayTo(work, head.revision, passes === 0 ? pace : undefined)
  }
  await client.query(`analyze ${tables.map(({ name }) => `pg_temp.${name}`).join(', ')}`)
  // Keeps a rebuild from replacing the tables during the comparison.
  if (!(await tryAdvisoryLock(client, REBUILD_LOCK, 'shared'))) return { kind: 'busy' }
  return compareNow(work)
}

interface Work {
  readonly client: PoolClient
  readonly options: VerifyTablesOptions
  readonly companyId: number
  /** Applied revision. */
  done: number
  /** Ledger revision when the first events were read; null before. */
  began: number | null
}

/** Revision and version of the tables. */
async function headOf(client: PoolClient, companyId: number): Promise<{ revision: number; version: string | null }> {
  const { rows } = await client.query<{ revision: number; version: string | null }>(
    `select l.revision, m.version from ops.read_model m left join ops.ledgers l on l.company_id = $1`,
    [companyId],
  )
  return { revision: rows[0]?.revision ?? -1, version: rows[0]?.version ?? null }
}

const BEGIN = `begin; set local enable_seqscan = off; set local enable_hashjoin = off;
  set local enable_mergejoin = off; set local plan_cache_mode = force_generic_plan`

/** One transaction per portion: a long one would block vacuum. Tables without statistics are read by key lookups. */
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
  // The first statement takes the snapshot: revision, version and rows are consistent.
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

/** Compares a rollup with its source tables, which are compared with the ledger themselves. */
async function differencesGrown(client: PoolClient, grown: Rollup, companyId: number): Promise<RowDifference[]> {
  const { rows } = await client.query<RowDifference>(grown.differences(READ_SCHEMA), [companyId, ROWS_TOLD])
  return rows
}

/** Rows that are on one side only, or differ; both sides are ordered by the primary key. */
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

/**
 * Members of a document that differ; the whole document if no single member does, for example if only their order
 * differs.
 */
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

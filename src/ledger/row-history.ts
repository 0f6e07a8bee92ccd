import { type AnyTable, type HistoryDeclaration, isRowHistory, type RowHistory, table } from './table.ts'

/** Part of a row's past that its own list had no more room for. */
export interface RowPast {
  company_id: number
  of_table: string
  row_id: number
  /** The last of `revisions`. */
  revision: number
  /** Of events that changed the row, ascending. */
  revisions: readonly number[]
  /** The row after the last of them; null where its table has no busy columns. */
  state: object | null
}

export const rowPasts = table<RowPast>('row_pasts', {
  columns: {
    company_id: 'bigint',
    of_table: 'text',
    row_id: 'bigint',
    revision: 'bigint',
    revisions: 'json',
    state: 'json',
  },
  keys: { pk: ['company_id', 'of_table', 'row_id', 'revision'] },
})

/** Revisions that a row lists itself. With more of them each write of the row costs more, with fewer there are more states. */
const LISTED = 32

type Row = Record<string, unknown>
type Traced = Row & RowHistory & { company_id: number; revision: number }

/**
 * Notes in a row that takes the place of another (null: is new) which events made it what it is. A change that leaves the
 * `revision` as it is belongs to columns that no past state has. Returns what the row has no more room for.
 */
export function recordRowVersion(table: AnyTable, row: Row, before: Row | null): RowPast | null {
  const { past } = table
  if (!past || past.isFixed) return null
  const after = row as Traced
  const { revision } = after
  if (!before) {
    after.first_revision = revision
    after.past_revisions = null
    if (past.hot) after.columns_revision = revision
    return null
  }
  const former = before as Traced
  after.first_revision = former.first_revision
  if (past.hot && !hasSameColumns(table, past.hot, row, before)) after.columns_revision = revision
  if (former.revision === revision) return null
  // The list goes over to the new row: nobody looks at the former one's any more.
  const revisions = former.past_revisions ?? []
  revisions.push(former.revision)
  const isFull = revisions.length === LISTED
  after.past_revisions = isFull ? null : revisions
  return isFull ? pastOf(table, past, former, revisions) : null
}

function pastOf(
  table: AnyTable,
  { id, hot: busy }: HistoryDeclaration,
  row: Traced,
  revisions: readonly number[],
): RowPast {
  const { company_id, revision } = row
  const state = busy ? stateOf(table, row) : null
  return { company_id, of_table: table.name, row_id: row[id] as number, revision, revisions, state }
}

/** The row without its lineage. */
function stateOf({ columns }: AnyTable, row: Row): Row {
  const state: Row = {}
  for (const name in columns) if (!isRowHistory(name)) state[name] = row[name]
  return state
}

/** Columns by which rows are found. */
const comparable = new WeakMap<AnyTable, readonly string[]>()

function comparableOf(table: AnyTable, busy: readonly string[]): readonly string[] {
  const known = comparable.get(table)
  if (known) return known
  const apart = [...busy, 'revision', 'changed_at']
  const found = Object.keys(table.columns).filter((column) => !apart.includes(column) && !isRowHistory(column))
  comparable.set(table, found)
  return found
}

function hasSameColumns(table: AnyTable, busy: readonly string[], row: Row, before: Row): boolean {
  for (const column of comparableOf(table, busy)) if (row[column] !== before[column]) return false
  return true
}

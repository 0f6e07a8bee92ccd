import { type AnyTable, type HistoryDeclaration, isRowHistory, type RowHistory, table } from './table.ts'

/** Older part of a row's history, moved out of the row when its list was full. */
export interface RowPast {
  company_id: number
  of_table: string
  row_id: number
  /** The last of `revisions`. */
  revision: number
  /** Events that changed the row, ascending. */
  revisions: readonly number[]
  /** The row after the last of them; null if the table has no hot columns. */
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

/**
 * Revisions stored in the row itself. A higher limit makes each write of the row more expensive, a lower one produces
 * more states.
 */
const LISTED = 32

type Row = Record<string, unknown>
type Traced = Row & RowHistory & { company_id: number; revision: number }

/**
 * Records in a new version of a row (`before` null: new row) the events that produced it. A change that keeps
 * `revision` affects only columns outside the history. Returns the part of the history that no longer fits into the
 * row.
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
  // The new version takes over the list; the former version's list is not read any more.
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

/** The row without its history columns. */
function stateOf({ columns }: AnyTable, row: Row): Row {
  const state: Row = {}
  for (const name in columns) if (!isRowHistory(name)) state[name] = row[name]
  return state
}

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

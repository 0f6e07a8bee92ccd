import { type AnyTable, LINEAGE, type Lineage, table } from './table.ts'

/** Part of a row's past that its own list had no more room for. */
export interface RowPast {
  company_id: number
  of_table: string
  row_id: number
  /** The last of `revisions`. */
  revision: number
  /** Of events that changed the row, ascending. */
  revisions: readonly number[]
  /** The row after the last of them; null where its table keeps no states. */
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
type Traced = Row & Lineage & { company_id: number; revision: number }

/**
 * Notes in a row that takes the place of another (null: is new) which events made it what it is. A change that leaves the
 * `revision` as it is belongs to columns that no past state has. Returns what the row has no more room for.
 */
export function trace(table: AnyTable, row: Row, before: Row | null): RowPast | null {
  const after = row as Traced
  if (!before) {
    Object.assign(after, { first_revision: after.revision, columns_revision: after.revision, past_revisions: null })
    return null
  }
  const { first_revision, columns_revision, past_revisions, revision, company_id } = before as Traced
  after.first_revision = first_revision
  after.columns_revision = hasSameColumns(table, row, before) ? columns_revision : after.revision
  if (revision === after.revision) return null
  const revisions = past_revisions ? [...past_revisions, revision] : [revision]
  const isFull = revisions.length === LISTED
  after.past_revisions = isFull ? null : revisions
  if (!isFull || !table.past) return null
  const row_id = before[table.past.id] as number
  const state = table.past.keepsStates ? stateOf(table, before) : null
  return { company_id, of_table: table.name, row_id, revision, revisions, state }
}

/** The row without its lineage. */
function stateOf({ columns }: AnyTable, row: Row): Row {
  const state: Row = {}
  for (const name in columns) if (!(name in LINEAGE)) state[name] = row[name]
  return state
}

/** Columns by which rows are found. */
const comparable = new WeakMap<AnyTable, readonly string[]>()

function comparableOf(table: AnyTable): readonly string[] {
  const known = comparable.get(table)
  if (known) return known
  const { columns, past } = table
  const apart = ['doc', 'revision', 'changed_at', ...Object.keys(LINEAGE), ...(past?.without ?? [])]
  const found = Object.keys(columns).filter((column) => !apart.includes(column))
  comparable.set(table, found)
  return found
}

/** An equal object made anew counts as a change: then looking back takes longer, and shows the same. */
function hasSameColumns(table: AnyTable, row: Row, before: Row): boolean {
  for (const column of comparableOf(table)) if ((row[column] ?? null) !== (before[column] ?? null)) return false
  return true
}

import type { Vault } from '#crypto/vault.ts'
import { binaryArray } from '#postgres/row-bytes.ts'
import type { BulkTransaction, Statement, Transaction } from '#postgres/transaction.ts'
import { type ColumnValues, openColumns, sealedColumns, toColumnArrays } from './row-values.ts'
import {
  type AnyRef,
  type AnyTable,
  type ColumnType,
  companionColumn,
  copyLines,
  copyStatement,
  type HistoryDeclaration,
  isRowHistory,
  jointStatement,
  type KeyValue,
  loadStatement,
  type Ref,
  type RowHistory,
  type RowWrite,
  type Table,
  table,
  toElementType,
  WRITES,
  writeStatement,
} from './table.ts'

/** Older part of a row's history, moved out of the row when its list was full. */
export interface RowPast {
  company_id: number
  table_name: string
  row_id: number
  /** The last of `revisions`. */
  revision: number
  /** Events that changed the row, ascending. */
  revisions: readonly number[]
  /** The row after the last of them; null if the table has no hot columns. */
  state: object | null
}

export const rowPasts = table<RowPast>('row_histories', {
  about: 'Older entries of row histories, by which past states are reconstructed.',
  columns: {
    company_id: 'bigint',
    table_name: 'text',
    row_id: 'bigint',
    revision: 'bigint',
    revisions: 'json',
    state: 'json',
  },
  keys: { pk: ['company_id', 'table_name', 'row_id', 'revision'] },
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
function recordRowVersion(table: AnyTable, row: Row, before: Row | null): RowPast | null {
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
  return { company_id, table_name: table.name, row_id: row[id] as number, revision, revisions, state }
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

/** Rows of one company as a command reads them. Reading a row that was not loaded is a bug and throws. */
export interface Rows {
  get<R>(ref: Ref<R>): Readonly<R> | null
}

/** Rows of one company as a projection changes them. */
export interface Changes extends Rows {
  /** Adds a row with a new primary key. */
  add<R>(table: Table<R>, row: R): void
  /** Replaces the row with the same primary key. */
  put<R>(table: Table<R>, row: R): void
  /** Whether a row is requested. Reconstruction of one row's past state skips the other rows of an event. */
  wants<R>(ref: Ref<R>): boolean
}

/**
 * In-memory view of some rows of the read model, shared by the commands of a group. It records absent and changed rows:
 * a row put by one command is visible to the next, also by its other keys.
 */
export interface WorkingSet {
  /** The rows of one company. All companies share the rows of global tables. */
  of(companyId: number): Changes
  /** References that are neither loaded nor put yet. */
  missing(companyId: number, refs: readonly AnyRef[]): AnyRef[]
  /** Queues references for the next `load`; known ones cost nothing. */
  queue(companyId: number, refs: readonly AnyRef[]): void
  /** Whether references are queued. */
  hasQueued(): boolean
  /** Marks rows as absent without a query, for records that are just being created. */
  markAbsent(companyId: number, refs: readonly AnyRef[]): void
  /**
   * Sends one statement per table and key for all queued references. The rows are available when the promises have
   * settled.
   */
  load(tx: Transaction): Promise<void>[]
  /**
   * Drops all rows of a company in these tables, including changed ones and their history. They are loaded again on the
   * next request.
   */
  forget(companyId: number, tables: readonly AnyTable[]): void
  /** Marks the rows added to a table as written by another transaction. */
  markWritten(table: AnyTable): void
  /** Rows of a table that were put or added. */
  changedOf<R>(table: Table<R>): readonly Readonly<R>[]
  /**
   * Sends one statement per changed table and way to write, rows in key order: existing rows give up names before new
   * rows take them.
   */
  flush(tx: Transaction): Promise<unknown>[]
  /** As `flush`, but uses COPY for large numbers of new rows: far cheaper for hundreds, more expensive for a few. */
  flushInBulk(tx: BulkTransaction): Promise<unknown>[]
}

/** Minimum number of new rows of a table for COPY; fewer are written with the upsert. */
const COPIED_ROWS = 50

const SEPARATOR = '\u0001'

interface TableState {
  readonly table: AnyTable
  /** key name → key → the row, or null if it is known to be absent */
  readonly index: Map<string, Map<string, ColumnValues | null>>
  /** way to write → primary key → changed row */
  readonly changed: Readonly<Record<RowWrite, Map<string, ColumnValues>>>
  /** key name → keys to load */
  readonly queued: Map<string, Map<string, readonly KeyValue[]>>
}

/** Statements, derived once per table from its declaration. */
const statements = new Map<string, Statement>()

function statement(name: string, build: () => Statement): Statement {
  let known = statements.get(name)
  if (!known) {
    known = build()
    statements.set(name, known)
  }
  return known
}

/**
 * An empty working set. Tests and replays that start with empty tables need no `load`. Only tables with sealed columns
 * need the vault.
 */
export function createWorkingSet(vault: Vault | null = null): WorkingSet {
  const states = new Map<string, TableState>()

  const stateOf = (table: AnyTable): TableState => {
    let state = states.get(table.name)
    if (!state) {
      state = {
        table,
        index: new Map(),
        changed: { replace: new Map(), add: new Map(), upsert: new Map() },
        queued: new Map(),
      }
      for (const by of Object.keys(table.keys)) state.index.set(by, new Map())
      states.set(table.name, state)
    }
    return state
  }

  const missing = (companyId: number, refs: readonly AnyRef[]): AnyRef[] =>
    refs.filter((ref) => !indexOf(stateOf(ref.table), ref.by).has(keyOf(companyId, ref)))

  return {
    of: (companyId) => changesOf(companyId, stateOf),
    missing,
    queue(companyId, refs) {
      for (const ref of refs) {
        const state = stateOf(ref.table)
        const key = keyOf(companyId, ref)
        if (indexOf(state, ref.by).has(key)) continue
        const queued = state.queued.get(ref.by) ?? new Map<string, readonly KeyValue[]>()
        state.queued.set(ref.by, queued)
        queued.set(key, ref.table.global ? ref.values : [companyId, ...ref.values])
      }
    },
    hasQueued: () => [...states.values()].some(({ queued }) => queued.size > 0),
    markAbsent(companyId, refs) {
      for (const ref of refs) {
        const known = indexOf(stateOf(ref.table), ref.by)
        const key = keyOf(companyId, ref)
        if (!known.has(key)) known.set(key, null)
      }
    },
    forget(companyId, tables) {
      const of = `${companyId}${SEPARATOR}`
      const pasts = states.get(rowPasts.name)
      for (const { name } of tables) {
        const state = states.get(name)
        if (state) dropKeys(state, of)
        if (pasts) dropKeys(pasts, `${of}${name}${SEPARATOR}`)
      }
    },
    markWritten({ name }) {
      const { add, replace } = states.get(name)?.changed ?? {}
      for (const [pk, row] of add ?? []) replace?.set(pk, row)
      add?.clear()
    },
    changedOf<R>({ name }: Table<R>) {
      const changed = states.get(name)?.changed
      return WRITES.flatMap((write) => [...(changed?.[write].values() ?? [])] as R[])
    },
    load: (tx) => [...states.values()].flatMap((state) => loadTable(tx, state, stateOf, vault)),
    flush: (tx) => {
      const parts = [...states.values()].flatMap((state) => WRITES.map((write) => partOf(state, write, vault)))
      return joined(parts).flatMap((part) => send(tx, part))
    },
    flushInBulk(tx) {
      const parts = [...states.values()].flatMap((state) =>
        WRITES.map((write) => {
          const { table, changed } = state
          const isCopied = write === 'add' && changed.add.size >= COPIED_ROWS && sealedColumns(table).length === 0
          return isCopied ? { table, lines: copyLines(table, [...changed.add.values()]) } : partOf(state, write, vault)
        }),
      )
      return parts.flatMap((part) => ('lines' in part ? copy(tx, part) : send(tx, part)))
    },
  }
}

/**
 * Statements for one table, built before the first one is sent: an error in between would leave a transaction half
 * written.
 */
interface Part {
  readonly table: AnyTable
  readonly write: RowWrite
  readonly values: Buffer[] | null
  /** Table of the replaced rows at the end of `values`. */
  readonly with?: AnyTable
}

/** The parts; rows that are added and replaced together (`writtenWith`) share one. */
function joined(parts: readonly Part[]): Part[] {
  const replacing = (table: AnyTable) => parts.find((part) => part.table === table && part.write === 'replace')
  const taken = new Set<Part>()
  const joint = parts.map((part) => {
    const other = part.write === 'add' && part.table.writtenWith ? replacing(part.table.writtenWith) : undefined
    if (!part.values || !other?.values) return part
    taken.add(other)
    return { ...part, values: [...part.values, ...other.values], with: other.table }
  })
  return joint.filter((part) => !taken.has(part))
}

const partOf = ({ table, changed }: TableState, write: RowWrite, vault: Vault | null): Part => ({
  table,
  write,
  values: toColumnArrays(table, [...changed[write].values()], vault),
})

function send(tx: Transaction, { table, write, values, with: replaced }: Part): Promise<unknown>[] {
  if (!values) return []
  const name = replaced ? `${write}_${table.name}_${replaced.name}` : `${write}_${table.name}`
  const make = () => (replaced ? jointStatement(table, replaced) : writeStatement(table, write))
  return [tx.query(statement(name, make), values)]
}

const copy = (tx: BulkTransaction, { table, lines }: { table: AnyTable; lines: string }): Promise<unknown>[] => [
  tx.copy(copyStatement(table), lines),
]

function changesOf(companyId: number, stateOf: (table: AnyTable) => TableState): Changes {
  const put = (table: AnyTable, row: ColumnValues, isNew: boolean): void => {
    const state = stateOf(table)
    if (!table.global && row.company_id !== companyId)
      throw new Error(`a row of ${table.name} belongs to another company`)
    const pk = primaryKeyOf(table, row)
    const before = indexOf(state, 'pk').get(pk)
    if (isNew && before) throw new Error(`row ${table.name} ${pk} exists already`)
    index(state, pk, row, before)
    const past = recordRowVersion(table, row, before ?? null)
    if (past) put(rowPasts, { ...past }, true)
    state.changed[writeOf(state, pk, isNew, before)].set(pk, row)
  }
  return {
    get<R>(ref: Ref<R>): Readonly<R> | null {
      const row = indexOf(stateOf(ref.table), ref.by).get(keyOf(companyId, ref))
      if (row === undefined) throw new Error(`row ${ref.table.name}.${ref.by} ${ref.values.join('/')} was not loaded`)
      return row as R | null
    },
    add: (table, row) => put(table, row as ColumnValues, true),
    put: (table, row) => put(table, row as ColumnValues, false),
    wants: () => true,
  }
}

/** How to write a row; one that was put before is written as before. */
function writeOf(
  { changed }: TableState,
  pk: string,
  isNew: boolean,
  before: ColumnValues | null | undefined,
): RowWrite {
  if (isNew || before === null) return 'add'
  return before === undefined ? 'upsert' : (WRITES.find((write) => changed[write].has(pk)) ?? 'replace')
}

function dropKeys({ index, changed }: TableState, prefix: string): void {
  for (const keys of [...index.values(), ...Object.values(changed)])
    for (const key of keys.keys()) if (key.startsWith(prefix)) keys.delete(key)
}

function loadTable(
  tx: Transaction,
  state: TableState,
  stateOf: (table: AnyTable) => TableState,
  vault: Vault | null,
): Promise<void>[] {
  const { companion } = state.table
  const loads = [...state.queued].map(async ([by, queued]) => {
    const columns = state.table.keys[by] as readonly string[]
    const keys = [...queued.values()]
    const types = state.table.columns as Record<string, ColumnType>
    const values = columns.map((column, position) =>
      binaryArray(
        toElementType(types[column] as ColumnType),
        keys.map((key) => key[position]),
      ),
    )
    const name = `load_${state.table.name}_${by}`
    const result = await tx.query<ColumnValues>(
      statement(name, () => loadStatement(state.table, by)),
      values,
    )
    const sealed = sealedColumns(state.table)
    for (const row of result.rows) {
      if (companion) remember(stateOf(companion), takeCompanion(companion, row))
      remember(state, sealed.length > 0 ? openColumns(state.table, sealed, row, vault) : row)
    }
    const indexes = [indexOf(state, by), ...(companion && by === 'pk' ? [indexOf(stateOf(companion), 'pk')] : [])]
    for (const found of indexes) for (const key of queued.keys()) if (!found.has(key)) found.set(key, null)
  })
  state.queued.clear()
  return loads
}

/** Moves the companion's columns of a loaded row into a row of their own. */
function takeCompanion({ columns }: AnyTable, row: ColumnValues): ColumnValues {
  const taken: ColumnValues = {}
  for (const column in columns) {
    const name = companionColumn(column)
    taken[column] = row[name]
    delete row[name]
  }
  return taken
}

/** A loaded row never replaces a known one, which may have changed since. */
function remember(state: TableState, row: ColumnValues): void {
  const pk = primaryKeyOf(state.table, row)
  if (!indexOf(state, 'pk').get(pk)) index(state, pk, row)
}

/**
 * Indexes a row by its keys. Keys that only the replaced row had are marked as absent, unless another row took them
 * since.
 */
function index({ table, index }: TableState, pk: string, row: ColumnValues, replaced?: ColumnValues | null): void {
  for (const [by, keys] of index) {
    const key = by === 'pk' ? pk : rowKey(table, by, row)
    const left = replaced && by !== 'pk' ? rowKey(table, by, replaced) : null
    if (left !== null && left !== key && keys.get(left) === replaced) keys.set(left, null)
    if (key !== null) keys.set(key, row)
  }
}

function indexOf(state: TableState, by: string): Map<string, ColumnValues | null> {
  const found = state.index.get(by)
  if (!found) throw new Error(`table ${state.table.name} has no key ${by}`)
  return found
}

/** Called several times per event, so it avoids intermediate arrays. */
function keyOf(companyId: number, { table, values }: AnyRef): string {
  let key = table.global ? '' : `${companyId}${SEPARATOR}`
  for (const value of values) key += `${textOfKey(value)}${SEPARATOR}`
  return key
}

/** Buffers with invalid UTF-8 can have equal texts, so hexadecimal is used. */
const textOfKey = (value: unknown): unknown => (Buffer.isBuffer(value) ? value.toString('hex') : value)

function primaryKeyOf(table: AnyTable, row: ColumnValues): string {
  const pk = rowKey(table, 'pk', row)
  if (pk === null) throw new Error(`a row of ${table.name} lacks its primary key`)
  return pk
}

/** Key of a row; null if a part of it is null. */
function rowKey(table: AnyTable, by: string, row: ColumnValues): string | null {
  let key = ''
  for (const column of table.keys[by] as readonly string[]) {
    const part = row[column]
    if (part === null || part === undefined) return null
    key += `${textOfKey(part)}${SEPARATOR}`
  }
  return key
}

import type { Vault } from '#crypto/vault.ts'
import { binaryArray } from '#postgres/binary-array.ts'
import type { BulkTransaction, Statement, Transaction } from '#postgres/transaction.ts'
import { recordRowVersion, rowPasts } from './row-history.ts'
import { type ColumnValues, openColumns, sealedColumns, valuesOf } from './row-values.ts'
import {
  type AnyRef,
  type AnyTable,
  type ColumnType,
  copyLines,
  copyStatement,
  elementOf,
  type KeyValue,
  loadStatement,
  type Ref,
  type RowWrite,
  type Table,
  WRITES,
  writeStatement,
} from './table.ts'

/** Rows of one company, as a command sees them. Asking for a row that was not loaded is a bug and throws. */
export interface Rows {
  get<R>(ref: Ref<R>): Readonly<R> | null
}

/** Rows of one company, as a projection changes them. */
export interface Changes extends Rows {
  /** A row whose primary key is new to its table. */
  add<R>(table: Table<R>, row: R): void
  /** A row that takes the place of the one with its primary key. */
  put<R>(table: Table<R>, row: R): void
  /** Whether a row is asked for. Where a past state of one row is made, an event that changed several changes just that one. */
  wants<R>(ref: Ref<R>): boolean
}

/**
 * An in-memory view of some rows of the read model, shared by the commands of a group. It remembers
 * what was absent and what was changed; a row put by one command is seen by the next, also through its other keys.
 */
export interface WorkingSet {
  /** The rows of one company; rows of global tables are shared by all companies. */
  of(companyId: number): Changes
  /** Those of the references that are neither loaded nor put yet. */
  missing(companyId: number, refs: readonly AnyRef[]): AnyRef[]
  /** Notes references for the next `load`; known ones cost nothing. */
  want(companyId: number, refs: readonly AnyRef[]): void
  /** Whether anything is wanted. */
  isWanting(): boolean
  /** Notes that rows are not there, of records that are only being made: nobody has to look for them. */
  absent(companyId: number, refs: readonly AnyRef[]): void
  /** Sends one statement per table and key for all that is wanted; the rows are there when the promises have settled. */
  load(tx: Transaction): Promise<void>[]
  /** Forgets all rows of a company in these tables, changed ones too, with their pasts: they are asked for anew. */
  forget(companyId: number, tables: readonly AnyTable[]): void
  /** Another transaction has written the rows that were added to a table. */
  wereAdded(table: AnyTable): void
  /** Rows of a table that were put or added, and whether they are known to be new to it. */
  changedOf<R>(table: Table<R>): readonly { readonly row: Readonly<R>; readonly isNew: boolean }[]
  /** Sends a statement per changed table and way to write, rows in key order: what a table has gives up its names to what is new. */
  flush(tx: Transaction): Promise<unknown>[]
  /** As `flush`, but copies rows that are new to their table, where there are many: far cheaper for hundreds, dearer for a few. */
  flushInBulk(tx: BulkTransaction): Promise<unknown>[]
}

/** Fewer new rows of a table go with its upsert. */
const COPIED_ROWS = 50

const SEPARATOR = '\u0001'

interface TableState {
  readonly table: AnyTable
  /** key name → key → the row, or null where it is known to be absent */
  readonly index: Map<string, Map<string, ColumnValues | null>>
  /** way to write → primary key → changed row */
  readonly changed: Readonly<Record<RowWrite, Map<string, ColumnValues>>>
  /** key name → keys to load */
  readonly wanted: Map<string, Map<string, readonly KeyValue[]>>
}

/** Statements are derived from declarations once per table. */
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
 * An empty working set. Without a `load` it serves tests and replays that start from nothing. Only tables with sealed columns
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
        wanted: new Map(),
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
    want(companyId, refs) {
      for (const ref of refs) {
        const state = stateOf(ref.table)
        const key = keyOf(companyId, ref)
        if (indexOf(state, ref.by).has(key)) continue
        const wanted = state.wanted.get(ref.by) ?? new Map<string, readonly KeyValue[]>()
        state.wanted.set(ref.by, wanted)
        wanted.set(key, ref.table.global ? ref.values : [companyId, ...ref.values])
      }
    },
    isWanting: () => [...states.values()].some(({ wanted }) => wanted.size > 0),
    absent(companyId, refs) {
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
    wereAdded({ name }) {
      const { add, replace } = states.get(name)?.changed ?? {}
      for (const [pk, row] of add ?? []) replace?.set(pk, row)
      add?.clear()
    },
    changedOf<R>({ name }: Table<R>) {
      const changed = states.get(name)?.changed
      return WRITES.flatMap((write) =>
        [...(changed?.[write].values() ?? [])].map((row) => ({ row: row as R, isNew: write === 'add' })),
      )
    },
    load: (tx) => [...states.values()].flatMap((state) => loadTable(tx, state, vault)),
    flush: (tx) => {
      const parts = [...states.values()].flatMap((state) => WRITES.map((write) => partOf(state, write, vault)))
      return parts.flatMap((part) => send(tx, part))
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

/** What is written of a table, made before the first statement is sent: an error in between would leave a transaction half written. */
interface Part {
  readonly table: AnyTable
  readonly write: RowWrite
  readonly values: Buffer[] | null
}

const partOf = ({ table, changed }: TableState, write: RowWrite, vault: Vault | null): Part => ({
  table,
  write,
  values: valuesOf(table, [...changed[write].values()], vault),
})

const send = (tx: Transaction, { table, write, values }: Part): Promise<unknown>[] =>
  values
    ? [
        tx.query(
          statement(`${write}_${table.name}`, () => writeStatement(table, write)),
          values,
        ),
      ]
    : []

const copy = (tx: BulkTransaction, { table, lines }: { table: AnyTable; lines: string }): Promise<unknown>[] => [
  tx.copy(copyStatement(table), lines),
]

function changesOf(companyId: number, stateOf: (table: AnyTable) => TableState): Changes {
  const put = (table: AnyTable, row: ColumnValues, isNew: boolean): void => {
    const state = stateOf(table)
    if (!table.global && row.company_id !== companyId)
      throw new Error(`a row of ${table.name} belongs to another company`)
    const pk = rowKey(table, 'pk', row)
    if (pk === null) throw new Error(`a row of ${table.name} lacks its primary key`)
    const before = indexOf(state, 'pk').get(pk)
    if (isNew && before) throw new Error(`row ${table.name} ${pk} exists already`)
    index(state, pk, row, before)
    const past = recordRowVersion(table, row, before ?? null)
    if (past) put(rowPasts, { ...past }, true)
    state.changed[wayTo(state, pk, isNew, before)].set(pk, row)
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

/** A row that was put before is written the way that it would have been then. */
function wayTo({ changed }: TableState, pk: string, isNew: boolean, before: ColumnValues | null | undefined): RowWrite {
  if (isNew || before === null) return 'add'
  return before === undefined ? 'upsert' : (WRITES.find((write) => changed[write].has(pk)) ?? 'replace')
}

function dropKeys({ index, changed }: TableState, prefix: string): void {
  for (const keys of [...index.values(), ...Object.values(changed)])
    for (const key of keys.keys()) if (key.startsWith(prefix)) keys.delete(key)
}

function loadTable(tx: Transaction, state: TableState, vault: Vault | null): Promise<void>[] {
  const loads = [...state.wanted].map(async ([by, wanted]) => {
    const columns = state.table.keys[by] as readonly string[]
    const keys = [...wanted.values()]
    const types = state.table.columns as Record<string, ColumnType>
    const values = columns.map((column, position) =>
      binaryArray(
        elementOf(types[column] as ColumnType),
        keys.map((key) => key[position]),
      ),
    )
    const name = `load_${state.table.name}_${by}`
    const result = await tx.query<ColumnValues>(
      statement(name, () => loadStatement(state.table, by)),
      values,
    )
    const sealed = sealedColumns(state.table)
    for (const row of result.rows)
      remember(state, sealed.length > 0 ? openColumns(state.table, sealed, row, vault) : row)
    const found = indexOf(state, by)
    for (const key of wanted.keys()) if (!found.has(key)) found.set(key, null)
  })
  state.wanted.clear()
  return loads
}

/** A loaded row never replaces one that is known already: that one may have been changed since. */
function remember(state: TableState, row: ColumnValues): void {
  const pk = rowKey(state.table, 'pk', row)
  if (pk === null) throw new Error(`a row of ${state.table.name} lacks its primary key`)
  if (!indexOf(state, 'pk').get(pk)) index(state, pk, row)
}

/**
 * Makes a row found by its keys. The row that it replaces leaves those that it alone had: whoever looks there next must know
 * that nobody has them, unless another row took them since.
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

/** Keys are made several times an event, so without arrays in between. */
function keyOf(companyId: number, { table, values }: AnyRef): string {
  let key = table.global ? '' : `${companyId}${SEPARATOR}`
  for (const value of values) key += `${textOfKey(value)}${SEPARATOR}`
  return key
}

/** Different bytes may be the same text. */
const textOfKey = (value: unknown): unknown => (Buffer.isBuffer(value) ? value.toString('hex') : value)

/** The same of a row; null when part of it is. */
function rowKey(table: AnyTable, by: string, row: ColumnValues): string | null {
  let key = ''
  for (const column of table.keys[by] as readonly string[]) {
    const part = row[column]
    if (part === null || part === undefined) return null
    key += `${textOfKey(part)}${SEPARATOR}`
  }
  return key
}

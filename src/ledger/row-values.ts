import { openJson, sealContext, sealJson, type Vault } from '#crypto/vault.ts'
import { binaryArray } from '#postgres/row-bytes.ts'
import { type AnyTable, type ColumnType, type KeyValue, toElementType } from './table.ts'

/** A row by column, with sealed columns opened. */
export type ColumnValues = Record<string, unknown>

/** Rows in key order, as one array per column; null if there are no rows. */
export function toColumnArrays(table: AnyTable, unsorted: ColumnValues[], vault: Vault | null): Buffer[] | null {
  if (unsorted.length === 0) return null
  const rows = unsorted.sort((a, b) => compareRows(table, a, b))
  return arrayValues(table, rows, vault)
}

/** Rows as one array per column. */
export function arrayValues(table: AnyTable, rows: readonly ColumnValues[], vault: Vault | null = null): Buffer[] {
  const columns = Object.entries(table.columns) as [string, ColumnType][]
  return columns.map(([column, type]) =>
    binaryArray(
      toElementType(type),
      rows.map((row) => {
        const value = row[column]
        if (value === null) return null
        if (type === 'sealed') return sealJson(vaultFor(table, vault), value, sealContextOf(table, row))
        return type === 'json' ? JSON.stringify(value) : value
      }),
    ),
  )
}

export const sealedColumns = (table: AnyTable): string[] =>
  Object.keys(table.columns).filter((column) => table.columns[column] === 'sealed')

/** Opens the sealed columns of a loaded row. */
export function openColumns(
  table: AnyTable,
  sealed: readonly string[],
  row: ColumnValues,
  vault: Vault | null,
): ColumnValues {
  const context = sealContextOf(table, row)
  const open = (bytes: unknown) => bytes && openJson(vaultFor(table, vault), bytes as Buffer, context)
  return { ...row, ...Object.fromEntries(sealed.map((column) => [column, open(row[column])])) }
}

function vaultFor(table: AnyTable, vault: Vault | null): Vault {
  if (!vault) throw new Error(`table ${table.name} has sealed columns, which need a vault`)
  return vault
}

const sealContextOf = (table: AnyTable, row: ColumnValues): string =>
  sealContext(
    table.name,
    table.keys.pk.map((column) => row[column as string] as Exclude<KeyValue, Buffer>),
  )

function compareRows(table: AnyTable, a: ColumnValues, b: ColumnValues): number {
  for (const column of table.keys.pk as readonly string[]) {
    const [left, right] = [a[column] as KeyValue, b[column] as KeyValue]
    if (left !== right) return left < right ? -1 : 1
  }
  return 0
}

import { contextOf } from '#crypto/sealed-json.ts'

/** A sealed column of `ops`. The indexed column `master_key_id` beside it is the key that sealed it. */
interface SealedColumn {
  readonly table: string
  readonly column: string
  /** Primary key of the table; it is part of the seal's context. */
  readonly pk: readonly string[]
  readonly contextOf: (pk: readonly (string | number)[]) => string
}

const sealed = (table: string, column: string, ...pk: string[]): SealedColumn => ({
  table,
  column,
  pk,
  contextOf: (values) => contextOf(table, values),
})

/** All columns sealed by a master key. A rotation reseals them. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  sealed('webhook_secrets', 'secrets', 'company_id', 'webhook_id'),
  sealed('store_secrets', 'secrets', 'company_id', 'store_id'),
  sealed('imports', 'file', 'company_id', 'user_id'),
  sealed('installation_secrets', 'secret', 'name'),
  sealed('second_factors', 'secret', 'id'),
  { table: 'person_keys', column: 'wrapped', pk: ['key_id'], contextOf: (values) => contextOf('person_key', values) },
]

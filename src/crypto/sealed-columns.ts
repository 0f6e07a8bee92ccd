import { contextOf } from '#crypto/sealed-json.ts'

/** A column of `ops` that is sealed. Beside it the table has `master_key_id`, found by an index, which tells by which key. */
interface SealedColumn {
  readonly table: string
  readonly column: string
  /** What tells its rows apart, and a row's seal from that of others. */
  readonly pk: readonly string[]
  readonly contextOf: (pk: readonly (string | number)[]) => string
}

const sealed = (table: string, column: string, ...pk: string[]): SealedColumn => ({
  table,
  column,
  pk,
  contextOf: (values) => contextOf(table, values),
})

/** All that a master key seals: what a change of it has to seal anew. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  sealed('webhook_secrets', 'secrets', 'company_id', 'webhook_id'),
  sealed('store_secrets', 'secrets', 'company_id', 'store_id'),
  sealed('imports', 'file', 'company_id', 'user_id'),
  sealed('installation_secrets', 'secret', 'name'),
  { table: 'person_keys', column: 'wrapped', pk: ['key_id'], contextOf: (values) => contextOf('person_key', values) },
]

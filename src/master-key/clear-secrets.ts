import type { PoolClient } from 'pg'
import { contextOf, sealJson } from '#lib/sealed-json.ts'
import type { Vault } from '#lib/vault.ts'
import { SEALED_COLUMNS } from './sealed-columns.ts'

interface ClearSecret {
  readonly table_name: string
  /** The other columns of its row. */
  readonly columns: Readonly<Record<string, string | number | null>>
  readonly secrets: unknown
}

/** Whether migration 034 has put secrets aside that nobody has sealed yet. */
export async function hasClearSecrets(client: Pick<PoolClient, 'query'>): Promise<boolean> {
  const { rows } = await client.query(`select to_regclass('ops.clear_secrets') is not null as found`)
  return rows[0].found
}

/** Seals what was kept in clear, and drops the table that it waited in, in the caller's transaction. */
export async function sealClearSecrets(client: PoolClient, vault: Vault): Promise<void> {
  const { rows } = await client.query<ClearSecret>('select * from ops.clear_secrets')
  for (const { table, column, pk } of SEALED_COLUMNS) {
    for (const { columns, secrets } of rows.filter((row) => row.table_name === table)) {
      const context = contextOf(
        table,
        pk.map((name) => columns[name] as string | number),
      )
      const row = { ...columns, [column]: secrets === null ? null : sealJson(vault, secrets, context) }
      const names = Object.keys(row)
      await client.query(
        `insert into ops.${table} (${names.join(', ')}) values (${names.map((_, at) => `$${at + 1}`).join(', ')})`,
        Object.values(row),
      )
    }
  }
  await client.query('drop table ops.clear_secrets')
}

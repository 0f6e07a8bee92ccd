import type { Vault } from './vault.ts'

/** What a sealed value is bound to: the row that it is in, by the table's name and primary key. */
export const contextOf = (table: string, pk: readonly (string | number)[]): string => [table, ...pk].join('/')

/** A JSON value, sealed. */
export const sealJson = (vault: Vault, value: unknown, context: string): Buffer =>
  vault.seal(Buffer.from(JSON.stringify(value)), context)

/** A JSON value that was sealed in this context. @throws as the vault does */
export const openJson = <T>(vault: Vault, sealed: Buffer, context: string): T =>
  JSON.parse(vault.open(sealed, context).toString())

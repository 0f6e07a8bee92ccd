import type { Vault } from './vault.ts'

/** Context of a sealed value: the table and primary key of its row. */
export const contextOf = (table: string, pk: readonly (string | number)[]): string => [table, ...pk].join('/')

/** Seals a JSON value. */
export const sealJson = (vault: Vault, value: unknown, context: string): Buffer =>
  vault.seal(Buffer.from(JSON.stringify(value)), context)

/** Opens a JSON value sealed in this context. @throws as the vault does */
export const openJson = <T>(vault: Vault, sealed: Buffer, context: string): T =>
  JSON.parse(vault.open(sealed, context).toString())

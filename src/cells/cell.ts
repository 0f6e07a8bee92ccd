import type { Pool } from 'pg'
import type { Vault } from '#crypto/vault.ts'
import type { Sealing } from '#integrity/proofs/checkpoints.ts'
import type { EventStore } from '#ledger/port.ts'
import type { ReadModel } from '#ledger/projection.ts'

/** An installation, with what moves a company into it and out of it. */
export interface CellParts {
  readonly pool: Pool
  readonly databaseUrl: string
  readonly store: EventStore
  readonly model: ReadModel
  readonly vault: Vault
  /** Id of the current master key. */
  readonly masterKey: string
  readonly sealing: Sealing
  /** Works as the owner of the database, without a statement timeout. */
  asOwner<T>(work: (pool: Pool) => Promise<T>): Promise<T>
}

/** What forbids a step. */
export type CellObstacle =
  | 'no_company'
  | 'keys_missing'
  | 'not_exported'
  | 'being_removed'
  | 'own_export'
  | 'other_family'
  | 'other_master_key'
  | 'other_version'
  | 'broken_file'
  | 'taken'
  | 'already_imported'
  | 'older_ledger'
  | 'same_cnpj'
  | 'login_lost'
  | 'other_note'
  | 'busy'

/** A step that is refused; nothing was changed. The message is for operators. */
export class CellRefused extends Error {
  override readonly name = 'CellRefused'
  constructor(
    readonly obstacle: CellObstacle,
    message: string,
    readonly details?: Readonly<Record<string, unknown>>,
  ) {
    super(message)
  }
}

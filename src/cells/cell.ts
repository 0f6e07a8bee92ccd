import type { Pool } from 'pg'
import type { Vault } from '#crypto/vault.ts'
import type { Sealing } from '#integrity/checkpoints.ts'
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

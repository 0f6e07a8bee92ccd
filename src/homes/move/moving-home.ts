import type { Pool } from 'pg'
import type { Reading } from '#ledger/reading.ts'
import type { TablesVerification } from '#ledger/rebuild/verify-tables.ts'

/** A home as a move sees it: where a company leaves, or where it arrives. */
export interface MovingHome extends Reading {
  readonly name: string
  /** For the service's role. */
  readonly databaseUrl: string
  /** For the owner, also as the server of the other home reaches it. */
  readonly ownerUrl: string
  readonly pool: Pool
  /** As the owner, with statements that take as long as they need. */
  readonly owner: Pool
  /** Files that belong to its database. */
  readonly dataDir: string
  verifyTables(companyId: number): Promise<TablesVerification>
}

export interface Move {
  readonly companyId: number
  readonly from: MovingHome
  readonly to: MovingHome
  /** Hears how far it is. */
  readonly tell: (line: string) => void
  readonly newId: () => string
}

import type { Pool } from 'pg'
import type { EventReader } from '#ledger/reading.ts'
import type { TablesVerification } from '#ledger/rebuild/verify-tables.ts'

/** Source or target shard of a migration. */
export interface MigratingShard extends EventReader {
  readonly name: string
  /** As the service's role. */
  readonly databaseUrl: string
  /** As the owner, also reachable from the other shard's server. */
  readonly ownerUrl: string
  readonly pool: Pool
  /** As the owner, without statement time-outs. */
  readonly owner: Pool
  /** Files that belong to its database. */
  readonly dataDir: string
  verifyTables(companyId: number): Promise<TablesVerification>
}

export interface Migration {
  readonly companyId: number
  readonly from: MigratingShard
  readonly to: MigratingShard
  /** Receives the beginning of each part. */
  readonly onProgress: (line: string) => void
  /** Counts the work of a long part. */
  readonly progress?: MigrationProgress
  readonly newId: () => string
}

export interface MigrationProgress {
  /** Begins a part of `total` units. */
  begin(unit: string, total: number): void
  add(count: number): void
}

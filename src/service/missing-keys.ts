import type { Pool } from 'pg'
import { missingKeysOf, unblock } from '#ledger/missing-keys.ts'
import type { TablesVerification } from '#ledger/rebuild/verify-tables.ts'
import { type CatchUpOptions, catchUpCompany } from '#ledger/write/catch-up.ts'

interface Unblocking {
  readonly pool: Pool
  /** Null if the ledgers are in Postgres. */
  readonly following: CatchUpOptions | null
  /** Compares the company's tables with its ledger. @throws CannotOpen */
  readonly verify: () => Promise<TablesVerification>
}

/**
 * Makes a company writable again after its keys were restored or declared lost, and applies its pending events. Its
 * tables may have been built with empty fields; they must match a replay of the ledger. After restored keys they do not
 * match, and the company needs a rebuild. Returns whether the company takes writes now. @throws CannotOpen while keys
 * are missing
 */
export async function unblockCompany({ pool, following, verify }: Unblocking, companyId: number): Promise<boolean> {
  const before = await missingKeysOf(pool, companyId)
  if (before === null) return true
  if (following) await catchUpCompany(following, companyId, { waits: true })
  if (before === 'blank') {
    const found = await verify()
    if (found.kind !== 'verified' || found.differences.length > 0) return false
  }
  await unblock(pool, companyId, before)
  return (await missingKeysOf(pool, companyId)) === null
}

import { withAdvisoryLocks } from '#postgres/advisory-lock.ts'
import type { Migration } from './migrating-shard.ts'
import { MigrationRefused } from './migration-refused.ts'

/** Advisory lock of a company's migration, taken on both shards. */
export const moveLockOf = (companyId: number): string => `tillbook move ${companyId}`

/** The monitor of interrupted migrations holds the lock briefly, and so does a command that was just killed. */
const LOCK_WAIT_MS = 2_000

/**
 * Runs one migration of a company at a time. The callback given to `work` throws once the lock is lost: another process
 * may have opened the company again. @throws MigrationRefused
 */
export function withMoveLock<T>(
  { companyId, from, to }: Pick<Migration, 'companyId' | 'from' | 'to'>,
  work: (assertAlone: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const owners = [from, to].sort((a, b) => (a.name < b.name ? -1 : 1)).map(({ owner }) => owner)
  const ifTaken = () => {
    throw new MigrationRefused('busy', `company ${companyId} is being migrated by another command`)
  }
  return withAdvisoryLocks(owners, { key: moveLockOf(companyId), wait_ms: LOCK_WAIT_MS, ifTaken }, (holders) =>
    work(async () => {
      for (const holder of holders) await holder.query('select')
    }),
  )
}

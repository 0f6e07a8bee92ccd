import type { SealedWatch } from '#integrity/audit/verify.ts'
import { groupBy } from '#lib/group-by.ts'
import { appenderFrom, leafHash, type TreeHead } from './merkle.ts'

/** Checks a ledger, walked from its first event, against tree heads: same roots, and at least as long (PROOF-6). */
export function checkRoots(heads: readonly TreeHead[]): SealedWatch {
  const appender = appenderFrom()
  const bySize = groupBy(heads, ({ size }) => size)
  return {
    revision: heads.reduce((revision, { size }) => Math.max(revision, size - 1), -1),
    see({ hash }) {
      appender.append(leafHash(Buffer.from(hash, 'hex')))
      const isOther = bySize.get(appender.size)?.some(({ root }) => !root.equals(appender.root()))
      return isOther ? 'other_root' : null
    },
    root: () => appender.root().toString('base64'),
  }
}

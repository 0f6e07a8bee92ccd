import type { Anchor } from '#audit/walk.ts'
import type { Sealing } from './checkpoints.ts'
import { generationOf } from './generation.ts'
import type { KnownRing } from './key-ring.ts'
import { lastKept, ledgerCheckpoints } from './kept-checkpoints.ts'
import type { TreeHead } from './merkle.ts'

/** What a ledger has to go through. */
export interface Held {
  readonly anchors: readonly Anchor[]
  readonly heads: readonly TreeHead[]
}

/** What the service itself has sealed of a ledger: its last checkpoint, else what 0.1 has sealed. @throws SealAltered */
export async function ownSeals(
  { pool, directory }: Pick<Sealing, 'pool' | 'directory'>,
  ring: KnownRing,
  companyId: number,
): Promise<Held> {
  const generation = await generationOf(pool, directory, companyId)
  const { last } = await lastKept(pool, ledgerCheckpoints(ring, directory, companyId, generation.number), ring)
  return last ? { anchors: [], heads: [last] } : { anchors: await generation.anchors(pool, ring), heads: [] }
}

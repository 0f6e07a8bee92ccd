import type { Sealed } from '#audit/verify.ts'
import type { Anchor } from '#audit/walk.ts'
import type { Sealing } from './checkpoints.ts'
import { generationOf } from './generation.ts'
import { lastKept, ledgerCheckpoints } from './kept-checkpoints.ts'
import { type KnownRing, knownRing, WrongSealKey } from './key-ring.ts'
import type { TreeHead } from './merkle.ts'
import { throughRoots } from './roots-watch.ts'
import { SealAltered } from './seals-kept.ts'

/** What a ledger has to go through. */
export interface Held {
  readonly anchors: readonly Anchor[]
  readonly heads: readonly TreeHead[]
}

/** What the service itself has signed of a ledger: its last checkpoint, else the statement of the restore that began its log. @throws SealAltered */
export async function ownSeals(
  { pool, directory }: Pick<Sealing, 'pool' | 'directory'>,
  ring: KnownRing,
  companyId: number,
): Promise<Held> {
  const generation = await generationOf(pool, directory, companyId)
  const { last } = await lastKept(pool, ledgerCheckpoints(ring, directory, companyId, generation.number), ring)
  return last ? { anchors: [], heads: [last] } : { anchors: generation.anchors(ring), heads: [] }
}

/** The same for verifications that callers ask for; what was altered of it shows as a fault, since nothing says any more what was sealed. */
export async function sealedOf(sealing: Sealing | null, companyId: number): Promise<Sealed> {
  if (!sealing) return { anchors: [], watch: throughRoots([]) }
  try {
    const { anchors, heads } = await ownSeals(sealing, await knownRing(sealing), companyId)
    return { anchors, watch: throughRoots(heads) }
  } catch (error) {
    if (!(error instanceof SealAltered || error instanceof WrongSealKey)) throw error
    return { anchors: [], watch: { ...throughRoots([]), see: () => 'seal_altered' } }
  }
}

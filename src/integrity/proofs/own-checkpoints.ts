import type { Anchor } from '#integrity/audit/chain-walk.ts'
import type { SealedHeads } from '#integrity/audit/verify.ts'
import { CheckpointAltered } from './checkpoint-files.ts'
import { lastStoredCheckpoint, ledgerCheckpoints } from './checkpoint-log.ts'
import type { Sealing } from './checkpoints.ts'
import { type KnownRing, knownRing, WrongSealKey } from './key-ring.ts'
import { generationOf } from './log-generation.ts'
import type { TreeHead } from './merkle.ts'
import { checkRoots } from './root-check.ts'

/** What a ledger has to go through. */
export interface OwnCheckpoints {
  readonly anchors: readonly Anchor[]
  readonly heads: readonly TreeHead[]
}

/** What the service itself has signed of a ledger: its last checkpoint, else the statement of the restore that began its log. @throws CheckpointAltered */
export async function readOwnCheckpoints(
  { pool, directory }: Pick<Sealing, 'pool' | 'directory'>,
  ring: KnownRing,
  companyId: number,
): Promise<OwnCheckpoints> {
  const generation = await generationOf(pool, directory, companyId)
  const { last } = await lastStoredCheckpoint(
    pool,
    ledgerCheckpoints(ring, directory, companyId, generation.number),
    ring,
  )
  return last ? { anchors: [], heads: [last] } : { anchors: generation.anchors(ring), heads: [] }
}

/** The same for verifications that callers ask for; what was altered of it shows as a fault, since nothing says any more what was sealed. */
export async function ownCheckpointsOf(sealing: Sealing | null, companyId: number): Promise<SealedHeads> {
  if (!sealing) return { anchors: [], watch: checkRoots([]) }
  try {
    const { anchors, heads } = await readOwnCheckpoints(sealing, await knownRing(sealing), companyId)
    return { anchors, watch: checkRoots(heads) }
  } catch (error) {
    if (!(error instanceof CheckpointAltered || error instanceof WrongSealKey)) throw error
    return { anchors: [], watch: { ...checkRoots([]), see: () => 'seal_altered' } }
  }
}

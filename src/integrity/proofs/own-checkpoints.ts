import type { Anchor } from '#integrity/audit/chain-walk.ts'
import type { SealedHeads } from '#integrity/audit/verify.ts'
import { CheckpointAltered } from './checkpoint-files.ts'
import { lastStoredCheckpoint, ledgerCheckpoints } from './checkpoint-log.ts'
import type { Sealing } from './checkpoints.ts'
import { type KnownRing, knownRing, WrongSealKey } from './key-ring.ts'
import { generationOf } from './log-generation.ts'
import type { TreeHead } from './merkle.ts'
import { checkRoots } from './root-check.ts'

/** Anchors and tree heads that a ledger must match. */
export interface OwnCheckpoints {
  readonly anchors: readonly Anchor[]
  readonly heads: readonly TreeHead[]
}

/**
 * The service's own signatures for a ledger: its last checkpoint, or the statement of the restore that started its log.
 * @throws CheckpointAltered
 */
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

/**
 * For verifications on request. An altered checkpoint is reported as a fault, because the sealed state is then unknown.
 */
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

import { refuseField } from '#domain/refusals.ts'
import { type KnownRing, knownRing, WrongSealKey } from '#integrity/checkpoint-keys.ts'
import { knownCompanies, type OwnCheckpoints, readOwnCheckpoints } from '#integrity/checkpoint-schedule.ts'
import { checkRoots } from '#integrity/merkle.ts'
import { CheckpointAltered } from '#integrity/note.ts'
import { loadLedgerHead, type Verification, verifyLedger } from '#integrity/verify.ts'
import type { ReadingCore } from '#service/command-reader.ts'
import { Refused } from './verb.ts'

/** Known checkpoint keys of this installation; null without a checkpoint directory. @throws Refused */
export async function readKnownRing({ proofs }: ReadingCore): Promise<KnownRing | null> {
  try {
    const { sealing } = await proofs()
    return sealing && (await knownRing(sealing))
  } catch (error) {
    if (!(error instanceof WrongSealKey)) throw error
    throw new Refused(refuseField('seal-key', error.message))
  }
}

export const listCompanyIds = async (reader: ReadingCore): Promise<number[]> =>
  knownCompanies(reader, (await reader.proofs()).sealing?.directory ?? null)

interface LedgerToVerify extends Pick<OwnCheckpoints, 'heads'> {
  readonly companyId: number
  readonly onEvent: () => void
}

/** Compares a ledger with the given checkpoints and with those of the service. */
export async function verifySealed(
  reader: ReadingCore,
  ring: KnownRing | null,
  { companyId, heads, onEvent }: LedgerToVerify,
): Promise<Verification> {
  try {
    const nothing: OwnCheckpoints = { anchors: [], heads: [] }
    const { sealing } = await reader.proofs()
    const kept = ring && sealing ? await readOwnCheckpoints(sealing, ring, companyId) : nothing
    const watch = checkRoots([...heads, ...kept.heads])
    return await verifyLedger(reader, companyId, { anchors: kept.anchors, watch, onEvent })
  } catch (error) {
    if (!(error instanceof CheckpointAltered)) throw error
    const head = await loadLedgerHead(reader.pool, companyId)
    const first_error = { revision: Math.max(0, head.revision), reason: 'seal_altered' } as const
    return { valid: false, checked: 0, ...head, first_error }
  }
}

import { type Seal, signHead } from './seal.ts'
import { appendSeal, lastSeal } from './seal-files.ts'
import type { SealKey } from './seal-key.ts'
import { type Ledgers, verifyLedger } from './verify.ts'
import type { Verification } from './walk.ts'

/** A ledger that is not what it was is not sealed: a signature would make the forgery the truth. */
export class NotWhole extends Error {
  override readonly name = 'NotWhole'
  constructor(
    readonly companyId: number,
    readonly verification: Verification,
  ) {
    const { revision, reason } = verification.first_error ?? {}
    super(`the ledger of company ${companyId} is not whole: ${reason} at revision ${revision}`)
  }
}

export interface Sealing extends Ledgers {
  readonly key: SealKey
  /** Of seal files. */
  readonly directory: string
  /** UTC. */
  readonly now: () => string
}

/**
 * Verifies a ledger and signs its head. What was sealed before must still be there; with `since` only what came after it
 * is verified. Null for an empty ledger, or when it is stopped. @throws NotWhole
 */
export async function sealLedger(
  sealing: Omit<Sealing, 'directory'>,
  companyId: number,
  since: Seal | null,
  isStopped: () => boolean = () => false,
): Promise<Seal | null> {
  const found = await verifyLedger(sealing, companyId, {
    ...(since && { after: { revision: since.revision - 1, hash: null }, anchors: [since] }),
    isEnough: isStopped,
  })
  if (!found.valid) throw new NotWhole(companyId, found)
  if (isStopped() || found.revision < 0) return null
  return signHead(companyId, found, sealing.now(), sealing.key)
}

export interface SealRoundOptions {
  readonly onSealed: (seal: Seal) => void
  readonly onError: (error: unknown) => void
  readonly isStopped: () => boolean
}

/** Seals every ledger that has moved since its last seal in the directory. What is wrong with one does not keep the others from theirs. */
export async function sealMoved(sealing: Sealing, { onSealed, onError, isStopped }: SealRoundOptions): Promise<void> {
  const { rows } = await sealing.pool.query<{ company_id: number; revision: number; hash: string }>(
    'select company_id, revision, hash from ledgers where revision >= 0 order by company_id',
  )
  for (const { company_id: companyId, revision, hash } of rows) {
    if (isStopped()) return
    try {
      const last = await lastSeal(sealing.directory, companyId)
      if (last?.revision === revision && last.hash === hash) continue
      const seal = await sealLedger(sealing, companyId, last, isStopped)
      if (!seal) continue
      await appendSeal(sealing.directory, seal)
      onSealed(seal)
    } catch (error) {
      onError(error)
    }
  }
}

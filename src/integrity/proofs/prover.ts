import type { Pool } from 'pg'
import { streamOf } from '#ledger/envelope.ts'
import type { EventStore } from '#ledger/port.ts'
import { Unavailable } from '#lib/errors.ts'
import type { LimiterFigures } from '#lib/fair-share-limiter.ts'
import { createKeyedSemaphore } from '#lib/keyed-semaphore.ts'
import { leafHash, type TreeHead } from './merkle.ts'
import { proveConsistency, proveInclusion } from './prove.ts'
import { emptyTree, growTree, headOfTree, ledgerLog, TreeDiffers } from './trees.ts'

/** That an event is in its ledger's tree of a size. */
export interface EventProof {
  readonly revision: number
  /** Of the event, hex. */
  readonly hash: string
  readonly size: number
  readonly root: Buffer
  readonly hashes: readonly Buffer[]
  /** The signed note of that size, where there is one. */
  readonly checkpoint: string | null
}

/** That a ledger's tree of one size begins with that of another. */
export interface GrowthProof {
  readonly from: number
  readonly to: number
  readonly fromRoot: Buffer
  readonly root: Buffer
  readonly hashes: readonly Buffer[]
}

/** A size that the ledger's tree does not have, or that does not cover what is to be proved. */
export interface NoSuchSize {
  /** How many events there are. */
  readonly available: number
}

/** Proves for callers; whatever is given out was verified. */
export interface Prover {
  /**
   * By default in the tree that was signed last if it covers the event, else in the tree as it is. Null where the ledger has no
   * such revision. @throws Unavailable while the tree is being made; TreeDiffers where the ledger is not what was signed
   */
  inclusion(companyId: number, revision: number, size: number | null): Promise<EventProof | NoSuchSize | null>
  /** By default up to the tree as it is. @throws as `inclusion` */
  consistency(companyId: number, from: number, to: number | null): Promise<GrowthProof | NoSuchSize>
}

/** A checkpoint as it is kept: whoever is given the note verifies who has signed it. */
export interface SignedHead extends TreeHead {
  readonly note: string
}

export interface ProverOptions {
  readonly pool: Pool
  readonly store: EventStore
  /** A company's newest checkpoint. */
  readonly newestOf: (companyId: number) => Promise<SignedHead | null>
  /** In milliseconds. */
  readonly clock: () => number
}

/** One of a company: what grows its tree for the first takes the processor, and the next finds it grown. */
const LIMITS = { running: 4, runningOfKey: 1, waiting: 256, waitingOfKey: 32 }
/** A minute's events take far less; a tree that has to be made anew goes on with the next call, and in the background. */
const LONGEST_GROWTH_MS = 5_000
/** A ledger that is not what was signed stays that: its tree is not made anew for each who asks. */
const ANEW_EVERY_MS = 600_000

export function createProver(options: ProverOptions): Prover & { readonly waiting: LimiterFigures } {
  const turns = createKeyedSemaphore(LIMITS)
  const anew = new Map<number, number>()

  /** The second time with a tree made anew, which what was kept may not have been. */
  async function verified<T>(companyId: number, prove: () => Promise<T>): Promise<T> {
    try {
      return await prove()
    } catch (error) {
      const now = options.clock()
      if (!(error instanceof TreeDiffers) || now - (anew.get(companyId) ?? -ANEW_EVERY_MS) < ANEW_EVERY_MS) throw error
      anew.set(companyId, now)
      await emptyTree(options.pool, companyId)
      return prove()
    }
  }

  const proving = <T>(companyId: number, prove: () => Promise<T>): Promise<T> =>
    turns.run(companyId, () => verified(companyId, prove))

  return {
    waiting: turns,
    inclusion: (companyId, revision, size) =>
      proving(companyId, () => proveEvent(options, companyId, { revision, size })),
    consistency: (companyId, from, to) => proving(companyId, () => proveGrowth(options, companyId, { from, to })),
  }
}

async function proveEvent(
  options: ProverOptions,
  companyId: number,
  asked: { readonly revision: number; readonly size: number | null },
): Promise<EventProof | NoSuchSize | null> {
  const { pool, store, newestOf } = options
  const { revision } = asked
  const newest = await newestOf(companyId)
  const signed = newest && newest.size > revision ? newest : null
  const wanted = asked.size ?? signed?.size ?? null
  const available = await grownTo(options, companyId, Math.max(wanted ?? 0, revision + 1))
  if (signed && signed.size > available) throw new TreeDiffers(companyId)
  if (revision >= available) return null
  const size = wanted ?? available
  if (size <= revision || size > available) return { available }
  for await (const { hash } of store.pick(streamOf(companyId), [revision])) {
    const leaf = leafHash(Buffer.from(hash, 'hex'))
    const { hashes, root } = await proveInclusion(pool, companyId, leaf, { index: revision, size })
    const isSigned = signed?.size === size
    if (isSigned && !signed.root.equals(root)) throw new TreeDiffers(companyId)
    return { revision, hash, size, root, hashes, checkpoint: isSigned ? signed.note : null }
  }
  throw new TreeDiffers(companyId)
}

async function proveGrowth(
  options: ProverOptions,
  companyId: number,
  asked: { readonly from: number; readonly to: number | null },
): Promise<GrowthProof | NoSuchSize> {
  const available = await grownTo(options, companyId, Math.max(asked.from, asked.to ?? 0))
  const { from } = asked
  const to = asked.to ?? available
  if (from > to || to > available) return { available }
  return { from, to, ...(await proveConsistency(options.pool, companyId, from, to)) }
}

/** How many events the tree has, grown if it has fewer than wanted. */
async function grownTo({ pool, store, clock }: ProverOptions, companyId: number, wanted: number): Promise<number> {
  const kept = await headOfTree(pool, companyId)
  if (kept.size >= wanted) return kept.size
  const deadline = clock() + LONGEST_GROWTH_MS
  const { size } = await growTree(pool, ledgerLog(store, companyId), () => clock() >= deadline)
  if (size < wanted && clock() >= deadline) throw new Unavailable('the tree of the ledger is still being made')
  return size
}

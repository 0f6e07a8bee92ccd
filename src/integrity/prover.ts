import type { Pool } from 'pg'
import { streamName } from '#ledger/command.ts'
import type { EventStore } from '#ledger/port.ts'
import { Unavailable } from '#lib/errors.ts'
import { createKeyedSemaphore, type LimiterFigures } from '#lib/fair-sharing.ts'
import type { Database } from '#postgres/database.ts'
import {
  computeRoot,
  consistencyProof,
  type Hashes,
  inclusionProof,
  isConsistent,
  isIncluded,
  leafHash,
  type TreeHead,
} from './merkle.ts'
import { emptyTree, growTree, headOfTree, ledgerLog, readTreeHashes, TreeDiffers } from './trees.ts'

/** A verified proof from the stored tree, with the roots at the requested sizes. */
interface Proved {
  readonly hashes: Buffer[]
  readonly root: Buffer
}

/**
 * Proves that a leaf (hash of its data) is in a log's tree of a given size. The proof is verified up to the recorded
 * root of the whole tree before it is returned. `index` < `size`; `size` must not exceed the tree. @throws TreeDiffers
 */
export async function proveInclusion(
  pool: Database,
  log: number,
  leaf: Buffer,
  { index, size }: { readonly index: number; readonly size: number },
): Promise<Proved> {
  const head = await headOfTree(pool, log)
  const tiles = await readTreeHashes(pool, log, head.size, [index, size - 1])
  const hashes = inclusionProof(tiles, index, size)
  const root = rootWithin(tiles, size, head)
  if (!root || !isIncluded(leaf, { index, size, root }, hashes)) throw new TreeDiffers(log)
  return { hashes, root }
}

/**
 * Proves that the tree of size `to` begins with the tree of size `from`, with the same verification. @throws
 * TreeDiffers
 */
export async function proveConsistency(
  pool: Database,
  log: number,
  from: number,
  to: number,
): Promise<Proved & { readonly fromRoot: Buffer }> {
  const head = await headOfTree(pool, log)
  const tiles = await readTreeHashes(
    pool,
    log,
    head.size,
    [from, to].flatMap((size) => (size > 0 ? [size - 1] : [])),
  )
  const hashes = consistencyProof(tiles, from, to)
  const fromRoot = computeRoot(tiles, from)
  const root = rootWithin(tiles, to, head)
  if (!root || !isConsistent({ size: from, root: fromRoot }, { size: to, root }, hashes)) throw new TreeDiffers(log)
  return { hashes, root, fromRoot }
}

/** Root at a size; null if the recorded tree does not begin with it. */
function rootWithin(tiles: Hashes, size: number, head: TreeHead): Buffer | null {
  if (size > head.size) return null
  const root = computeRoot(tiles, size)
  return isConsistent({ size, root }, head, consistencyProof(tiles, size, head.size)) ? root : null
}

/** Proof that an event is in its ledger's tree of a given size. */
export interface EventProof {
  readonly revision: number
  /** Hash of the event, hex. */
  readonly hash: string
  readonly size: number
  readonly root: Buffer
  readonly hashes: readonly Buffer[]
  /** Signed note of that size; null if there is none. */
  readonly checkpoint: string | null
}

/** Proof that a ledger's tree of one size begins with its tree of another. */
export interface GrowthProof {
  readonly from: number
  readonly to: number
  readonly fromRoot: Buffer
  readonly root: Buffer
  readonly hashes: readonly Buffer[]
}

/** The requested size is beyond the ledger's tree or does not cover the event. */
export interface NoSuchSize {
  /** Number of events. */
  readonly available: number
}

/** Creates proofs on request and verifies each before it is returned. */
export interface Prover {
  /**
   * Uses the last signed tree by default if it covers the event, else the present tree. Null if the ledger has no such
   * revision. @throws Unavailable while the tree is being built; TreeDiffers if the ledger does not match its
   * checkpoint
   */
  inclusion(companyId: number, revision: number, size: number | null): Promise<EventProof | NoSuchSize | null>
  /** Up to the present tree by default. @throws as `inclusion` */
  consistency(companyId: number, from: number, to: number | null): Promise<GrowthProof | NoSuchSize>
}

/** A stored checkpoint. Its signature is not verified here; clients verify the note. */
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

/** One request per company: the first one grows the tree, which needs CPU time, and the next one finds it grown. */
const LIMITS = { running: 4, runningOfKey: 1, waiting: 256, waitingOfKey: 32 }
/** Growth by a minute's events takes far less. A full rebuild continues with the next request and in the background. */
const LONGEST_GROWTH_MS = 5_000
/**
 * Minimum interval between rebuilds of a tree: a ledger that does not match its checkpoint still fails after a rebuild.
 */
const ANEW_EVERY_MS = 600_000

export function createProver(options: ProverOptions): Prover & { readonly waiting: LimiterFigures } {
  const turns = createKeyedSemaphore(LIMITS)
  const anew = new Map<number, number>()

  /** Retries once with a rebuilt tree, in case only the stored tree is wrong. */
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
  for await (const { hash } of store.pick(streamName(companyId), [revision])) {
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

/** Size of the tree; grows it first if it has fewer than the required events. */
async function grownTo({ pool, store, clock }: ProverOptions, companyId: number, wanted: number): Promise<number> {
  const kept = await headOfTree(pool, companyId)
  if (kept.size >= wanted) return kept.size
  const deadline = clock() + LONGEST_GROWTH_MS
  const { size } = await growTree(pool, ledgerLog(store, companyId), () => clock() >= deadline)
  if (size < wanted && clock() >= deadline) throw new Unavailable('the tree of the ledger is still being made')
  return size
}

import type { Database } from '#postgres/database.ts'
import {
  consistencyProof,
  type Hashes,
  inclusionProof,
  isConsistent,
  isIncluded,
  rootOf,
  type TreeHead,
} from './merkle.ts'
import { hashesOf, headOfTree, TreeDiffers } from './trees.ts'

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
  const tiles = await hashesOf(pool, log, head.size, [index, size - 1])
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
  const tiles = await hashesOf(
    pool,
    log,
    head.size,
    [from, to].flatMap((size) => (size > 0 ? [size - 1] : [])),
  )
  const hashes = consistencyProof(tiles, from, to)
  const fromRoot = rootOf(tiles, from)
  const root = rootWithin(tiles, to, head)
  if (!root || !isConsistent({ size: from, root: fromRoot }, { size: to, root }, hashes)) throw new TreeDiffers(log)
  return { hashes, root, fromRoot }
}

/** Root at a size; null if the recorded tree does not begin with it. */
function rootWithin(tiles: Hashes, size: number, head: TreeHead): Buffer | null {
  if (size > head.size) return null
  const root = rootOf(tiles, size)
  return isConsistent({ size, root }, head, consistencyProof(tiles, size, head.size)) ? root : null
}

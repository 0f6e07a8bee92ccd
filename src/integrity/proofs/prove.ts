import type { Pool } from 'pg'
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

/** Something proved of a tree as it is kept, and what follows from it. Roots are those of the sizes asked for. */
interface Proved {
  readonly hashes: Buffer[]
  readonly root: Buffer
}

/**
 * That a leaf (the hash of its data) is in the tree that a log had at a size. What is given out was verified, up to the root
 * that was noted with the tree's whole size. `index` < `size`, and `size` not beyond the tree. @throws TreeDiffers
 */
export async function proveInclusion(
  pool: Pool,
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

/** That the tree of size `to` begins with that of size `from`, likewise. @throws TreeDiffers */
export async function proveConsistency(
  pool: Pool,
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

/** The root at a size; null where the tree that was noted does not begin with it. */
function rootWithin(tiles: Hashes, size: number, head: TreeHead): Buffer | null {
  if (size > head.size) return null
  const root = rootOf(tiles, size)
  return isConsistent({ size, root }, head, consistencyProof(tiles, size, head.size)) ? root : null
}

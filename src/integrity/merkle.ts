import { hash } from 'node:crypto'
import { groupBy } from '#lib/collections.ts'
import type { SealedWatch } from './verify.ts'

/**
 * Merkle trees as in RFC 6962, section 2.1. `size` is a number of leaves, `index` the position of a leaf from 0. The
 * subtree (level, index) is the complete one over the 2^level leaves from index × 2^level; level 0 holds the hashes of
 * leaves. Hashes are SHA-256, 32 bytes.
 */
export interface Hashes {
  /** Root of a complete subtree within the tree. */
  hash(level: number, index: number): Buffer
}

/**
 * Goes through a string: a buffer returned by the hash is allocated outside V8's heap, which costs more than the hash.
 */
const sha256 = (data: Uint8Array): Buffer => Buffer.from(hash('sha256', data, 'binary'), 'binary')

/** Root of an empty tree. */
export const EMPTY_ROOT: Buffer = sha256(Buffer.alloc(0))

const LEAF = Buffer.of(0)
const NODE = Buffer.of(1)

export const leafHash = (data: Uint8Array): Buffer => sha256(Buffer.concat([LEAF, data]))

export const nodeHash = (left: Uint8Array, right: Uint8Array): Buffer => sha256(Buffer.concat([NODE, left, right]))

/** Root of the first `size` leaves. */
export const computeRoot = (hashes: Hashes, size: number): Buffer =>
  size === 0 ? EMPTY_ROOT : rootBetween(hashes, 0, size)

/**
 * Proof that a leaf is in a tree (PATH of RFC 6962): siblings from the leaf's up to the root's child. `index` < `size`.
 */
export function inclusionProof(hashes: Hashes, index: number, size: number): Buffer[] {
  return pathTo(hashes, index, 0, size)
}

/**
 * Proof that the tree of size `to` begins with all leaves of the tree of size `from` (PROOF of RFC 6962). 0 ≤ `from` ≤
 * `to`.
 */
export function consistencyProof(hashes: Hashes, from: number, to: number): Buffer[] {
  return from === 0 ? [] : subproof(hashes, from, 0, to, true)
}

/** Root that follows from an inclusion proof; null if the number of hashes is wrong. */
function rootOfInclusion(leaf: Buffer, index: number, size: number, proof: readonly Buffer[]): Buffer | null {
  if (!(index >= 0 && index < size)) return null
  if (size === 1) return proof.length === 0 ? leaf : null
  const sibling = proof.at(-1)
  if (!sibling) return null
  const left = leftOf(size)
  const isLeft = index < left
  const child = rootOfInclusion(leaf, isLeft ? index : index - left, isLeft ? left : size - left, proof.slice(0, -1))
  return child && (isLeft ? nodeHash(child, sibling) : nodeHash(sibling, child))
}

/** Whether the proof shows that a leaf (`leafHash` of its data) is in the tree with this root. */
export function isIncluded(
  leaf: Buffer,
  { index, size, root }: { readonly index: number; readonly size: number; readonly root: Buffer },
  proof: readonly Buffer[],
): boolean {
  return rootOfInclusion(leaf, index, size, proof)?.equals(root) ?? false
}

/** Size and root of a tree. */
export interface TreeHead {
  readonly size: number
  readonly root: Buffer
}

/** Whether the proof shows that one tree begins with all leaves of the other. */
export function isConsistent(from: TreeHead, to: TreeHead, proof: readonly Buffer[]): boolean {
  if (!(from.size >= 0 && from.size <= to.size)) return false
  if (from.size === 0) return proof.length === 0 && from.root.equals(EMPTY_ROOT)
  const roots = rootsOfSubproof(from, to.size, true, proof)
  return (roots?.from.equals(from.root) && roots.to.equals(to.root)) ?? false
}

/** A complete subtree and its root. */
export interface TreeNode {
  readonly level: number
  readonly index: number
  readonly hash: Buffer
}

/** Append-only tree that keeps only the nodes of its right edge, at most one per level. */
export interface Appender {
  readonly size: number
  /** @returns the subtrees that this leaf completed, the leaf itself first. */
  append(leaf: Buffer): TreeNode[]
  root(): Buffer
}

/**
 * Continues a tree of size `startSize`; `hashes` must have its complete subtrees. By default it starts an empty tree.
 */
export function appenderFrom(hashes: Hashes | null = null, startSize = 0): Appender {
  const peaks: TreeNode[] = hashes
    ? peaksOf(startSize).map((peak) => ({ ...peak, hash: hashes.hash(peak.level, peak.index) }))
    : []
  let size = startSize
  return {
    get size() {
      return size
    },
    append(leaf) {
      let node: TreeNode = { level: 0, index: size, hash: leaf }
      const complete = [node]
      for (let left = peaks.at(-1); left?.level === node.level; left = peaks.at(-1)) {
        peaks.pop()
        node = { level: node.level + 1, index: left.index / 2, hash: nodeHash(left.hash, node.hash) }
        complete.push(node)
      }
      peaks.push(node)
      size += 1
      return complete
    },
    root: () =>
      peaks.reduceRight<Buffer | null>((right, { hash }) => (right ? nodeHash(hash, right) : hash), null) ?? EMPTY_ROOT,
  }
}

/** The complete subtrees of a tree, from left to right: one for each bit of its size. */
function peaksOf(size: number): { level: number; index: number }[] {
  const peaks: { level: number; index: number }[] = []
  for (let level = 0, rest = size; rest > 0; level += 1, rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) peaks.unshift({ level, index: rest - 1 })
  }
  return peaks
}

/** Number of leaves left of the root: the largest power of two below a size of at least 2. */
function leftOf(size: number): number {
  let left = 1
  while (left * 2 < size) left *= 2
  return left
}

/**
 * Root of the leaves from `start` to `end`. `start` must be a multiple of the smallest power of two that is at least
 * `end - start`.
 */
function rootBetween(hashes: Hashes, start: number, end: number): Buffer {
  const size = end - start
  const level = Math.log2(size)
  if (Number.isInteger(level)) return hashes.hash(level, start / size)
  const middle = start + leftOf(size)
  return nodeHash(rootBetween(hashes, start, middle), rootBetween(hashes, middle, end))
}

function pathTo(hashes: Hashes, index: number, start: number, end: number): Buffer[] {
  if (end - start === 1) return []
  const middle = start + leftOf(end - start)
  return index < middle
    ? [...pathTo(hashes, index, start, middle), rootBetween(hashes, middle, end)]
    : [...pathTo(hashes, index, middle, end), rootBetween(hashes, start, middle)]
}

/**
 * SUBPROOF of RFC 6962. `from` counts from the beginning of the tree; `isKnown`: the verifier has the root of this
 * part.
 */
function subproof(hashes: Hashes, from: number, start: number, end: number, isKnown: boolean): Buffer[] {
  if (from === end) return isKnown ? [] : [rootBetween(hashes, start, end)]
  const middle = start + leftOf(end - start)
  return from <= middle
    ? [...subproof(hashes, from, start, middle, isKnown), rootBetween(hashes, middle, end)]
    : [...subproof(hashes, from, middle, end, false), rootBetween(hashes, start, middle)]
}

function rootsOfSubproof(
  from: TreeHead,
  to: number,
  isKnown: boolean,
  proof: readonly Buffer[],
): { from: Buffer; to: Buffer } | null {
  const last = proof.at(-1)
  if (from.size === to) {
    const root = isKnown ? from.root : last
    return root && proof.length === (isKnown ? 0 : 1) ? { from: root, to: root } : null
  }
  if (!last) return null
  const left = leftOf(to)
  const rest = proof.slice(0, -1)
  if (from.size <= left) {
    const roots = rootsOfSubproof(from, left, isKnown, rest)
    return roots && { from: roots.from, to: nodeHash(roots.to, last) }
  }
  const roots = rootsOfSubproof({ ...from, size: from.size - left }, to - left, false, rest)
  return roots && { from: nodeHash(last, roots.from), to: nodeHash(last, roots.to) }
}

/** Checks a ledger, walked from its first event, against tree heads: same roots, and at least as long. */
export function checkRoots(heads: readonly TreeHead[]): SealedWatch {
  const appender = appenderFrom()
  const bySize = groupBy(heads, ({ size }) => size)
  return {
    revision: heads.reduce((revision, { size }) => Math.max(revision, size - 1), -1),
    see({ hash }) {
      appender.append(leafHash(Buffer.from(hash, 'hex')))
      const isOther = bySize.get(appender.size)?.some(({ root }) => !root.equals(appender.root()))
      return isOther ? 'other_root' : null
    },
    root: () => appender.root().toString('base64'),
  }
}

import type { Watch } from '#audit/walk.ts'
import { appenderFrom, leafHash, type TreeHead } from './merkle.ts'

/** Has a ledger, walked from its beginning, go through trees of some sizes and roots. */
export function throughRoots(heads: readonly TreeHead[]): Watch {
  const roots = readRootsOf(heads)
  return {
    revision: Math.max(0, ...heads.map(({ size }) => size)) - 1,
    see({ revision, hash }) {
      roots.see(hash)
      const due = heads.filter(({ size }) => size === revision + 1)
      return due.every(({ root, size }) => roots.at(size)?.equals(root)) ? null : 'other_root'
    },
  }
}

/** Tells the roots that a ledger's tree had at some sizes, once it has seen the hashes of its events (hex) in order. */
export function readRootsOf(heads: readonly Pick<TreeHead, 'size'>[]) {
  const wanted = new Set(heads.map(({ size }) => size))
  const longest = Math.max(0, ...wanted)
  const roots = new Map<number, Buffer>()
  const appender = appenderFrom()
  return {
    see(hash: string): void {
      if (appender.size >= longest) return
      appender.append(leafHash(Buffer.from(hash, 'hex')))
      if (wanted.has(appender.size)) roots.set(appender.size, appender.root())
    },
    at: (size: number): Buffer | undefined => roots.get(size),
  }
}

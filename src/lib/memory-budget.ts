import { createSharedRoom, type Key, type SharedFigures } from './shared-room.ts'
import { ShareTaken } from './unavailable.ts'

/** Bytes that may be kept in memory: for all callers, and for one company, or one address of strangers, at most. */
export interface MemoryLimits {
  readonly allBytes: number
  readonly companyBytes: number
}

/** What is kept in memory for one call. */
export interface MemoryUse {
  /** @throws ShareTaken when too much is kept already; what was added before stays until it is released. */
  add(bytes: number): void
  /** Once is enough, more does no harm. */
  release(): void
}

/** Bounds memory by refusing what would exceed it. */
export interface MemoryBudget {
  /** In the name of a company's id or, of whom nobody knows yet, of an address. */
  open(key: Key): MemoryUse
}

/**
 * Each key has its share (createSharedRoom). One call of a key is let through, however much it needs: what does not fit beside
 * others must fit alone.
 */
export function createMemoryBudget({ allBytes, companyBytes }: MemoryLimits): MemoryBudget & SharedFigures {
  const room = createSharedRoom(allBytes, companyBytes)
  return {
    get used() {
      return room.used
    },
    get refused() {
      return room.refused
    },
    open(key) {
      let own = 0
      return {
        add(bytes) {
          if (!room.take(key, bytes, own)) throw new ShareTaken('too much is kept for callers already')
          own += bytes
        },
        release() {
          room.give(key, own)
          own = 0
        },
      }
    },
  }
}

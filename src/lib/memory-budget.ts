import { createSharedRoom, type Key, type SharedFigures } from './shared-room.ts'
import { Unavailable } from './unavailable.ts'

/** What is kept in memory for one call. */
export interface MemoryUse {
  /** @throws Unavailable when too much is kept already; what was added before stays until it is released. */
  add(bytes: number): void
  /** Once is enough, more does no harm. */
  release(): void
}

/** Bounds memory by refusing what would exceed it, by key: each has its share (createSharedRoom). */
export interface MemoryBudget {
  open(key: Key): MemoryUse
}

export function createMemoryBudget(capacity_bytes: number): MemoryBudget & SharedFigures {
  const room = createSharedRoom(capacity_bytes)
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
          if (!room.take(key, bytes, own)) throw new Unavailable('too much is kept for callers already')
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

import { TenantLimitExceeded } from './errors.ts'
import { createFairShareLimiter, type LimiterFigures, type ShareKey } from './fair-share-limiter.ts'

/** Bounds in bytes: for all callers together, and for one company or one client address. */
export interface MemoryLimits {
  readonly allBytes: number
  readonly companyBytes: number
}

/** The memory held for one request. */
export interface MemoryUse {
  /** @throws TenantLimitExceeded if the budget is exhausted; what was added before stays until `release`. */
  add(bytes: number): void
  /** Idempotent. */
  release(): void
}

/** Bounds memory by refusing what would exceed it. */
export interface MemoryBudget {
  /** `key` is a company's id, or a client address for unauthenticated requests. */
  open(key: ShareKey): MemoryUse
}

/**
 * Each key has its fair share (createFairShareLimiter). One request of a key is always let through: what does not fit beside
 * others must fit alone.
 */
export function createMemoryBudget({ allBytes, companyBytes }: MemoryLimits): MemoryBudget & LimiterFigures {
  const room = createFairShareLimiter(allBytes, companyBytes)
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
          if (!room.acquire(key, bytes, own))
            throw new TenantLimitExceeded('memory budget for request bodies exhausted; try again later')
          own += bytes
        },
        release() {
          room.release(key, own)
          own = 0
        },
      }
    },
  }
}

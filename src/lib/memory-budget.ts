import { Unavailable } from './unavailable.ts'

/** Bytes that may be kept in memory: for all callers, and for one company, or one address of strangers. */
export interface MemoryLimits {
  readonly allBytes: number
  readonly companyBytes: number
}

/** What is kept in memory for one call. */
export interface MemoryUse {
  /** @throws Unavailable when too much is kept already; what was added before stays until it is released. */
  add(bytes: number): void
  /** Once is enough, more does no harm. */
  release(): void
}

/** Bounds memory by refusing what would exceed it. */
export interface MemoryBudget {
  /** In the name of a company's id or, of whom nobody knows yet, of an address. */
  open(key: number | string): MemoryUse
}

/** One call of a company is let through, however much it needs: what does not fit beside others must fit alone. */
export function createMemoryBudget({ allBytes, companyBytes }: MemoryLimits): MemoryBudget {
  const byKey = new Map<number | string, number>()
  let all = 0
  const change = (key: number | string, bytes: number): number => {
    const left = (byKey.get(key) ?? 0) + bytes
    all += bytes
    if (left > 0) byKey.set(key, left)
    else byKey.delete(key)
    return left
  }
  return {
    open(key) {
      let own = 0
      return {
        add(bytes) {
          own += bytes
          const ofKey = change(key, bytes)
          if (all > allBytes || (ofKey > companyBytes && ofKey > own)) {
            throw new Unavailable('too much is kept for callers already')
          }
        },
        release() {
          change(key, -own)
          own = 0
        },
      }
    },
  }
}

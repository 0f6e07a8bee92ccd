import { Unavailable } from './unavailable.ts'

/** Bytes that may be kept in memory: for all callers, and for one company. */
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
  /** Company 0 stands for callers whom nobody knows yet. */
  open(companyId: number): MemoryUse
}

/** One call of a company is let through, however much it needs: what does not fit beside others must fit alone. */
export function createMemoryBudget({ allBytes, companyBytes }: MemoryLimits): MemoryBudget {
  const byCompany = new Map<number, number>()
  let all = 0
  const change = (companyId: number, bytes: number): number => {
    const left = (byCompany.get(companyId) ?? 0) + bytes
    all += bytes
    if (left > 0) byCompany.set(companyId, left)
    else byCompany.delete(companyId)
    return left
  }
  return {
    open(companyId) {
      let own = 0
      return {
        add(bytes) {
          own += bytes
          const ofCompany = change(companyId, bytes)
          if (all > allBytes || (ofCompany > companyBytes && ofCompany > own)) {
            throw new Unavailable('too much is kept for callers already')
          }
        },
        release() {
          change(companyId, -own)
          own = 0
        },
      }
    },
  }
}

/** A company's id or a client address. */
export type ShareKey = number | string

/** Figures for metrics. */
export interface LimiterFigures {
  /** Units in use. */
  readonly used: number
  /** Refusals since the process started. */
  readonly refused: number
}

/** A bounded resource shared by key: bytes, or places in a queue. */
export interface FairShareLimiter extends LimiterFigures {
  /**
   * Takes `amount`, or nothing (false) if that exceeds the key's share. `own` is what the same request holds already: a
   * key's only request, or its first, may take whatever is free.
   */
  acquire(key: ShareKey, amount: number, own?: number): boolean
  release(key: ShareKey, amount: number): void
}

/**
 * Dynamic threshold (Choudhury and Hahne, 1998): a key may hold as much as it leaves free. Alone that is a half, beside
 * one greedy key a third, so a newcomer always finds room without a fixed share per key. `ofKey` bounds a key further.
 */
export function createFairShareLimiter(capacity: number, ofKey = capacity): FairShareLimiter {
  const heldBy = new Map<ShareKey, number>()
  let used = 0
  let refused = 0

  function change(key: ShareKey, amount: number): void {
    used += amount
    const held = (heldBy.get(key) ?? 0) + amount
    if (held > 0) heldBy.set(key, held)
    else heldBy.delete(key)
  }

  return {
    get used() {
      return used
    },
    get refused() {
      return refused
    },
    acquire(key, amount, own = 0) {
      const free = capacity - used - amount
      const held = heldBy.get(key) ?? 0
      if (free < 0 || (held > own && held + amount > Math.min(free, ofKey))) {
        refused += 1
        return false
      }
      change(key, amount)
      return true
    },
    release: (key, amount) => change(key, -amount),
  }
}

/** A company's id or a client address. */
export type Key = number | string

/** Figures for metrics. */
export interface SharedFigures {
  /** Units in use. */
  readonly used: number
  /** Refusals since the process started. */
  readonly refused: number
}

/** A bounded resource shared by key: bytes, or places in a queue. */
export interface SharedRoom extends SharedFigures {
  /**
   * Takes `amount`, or nothing (false) if that exceeds the key's share. `own` is what the same request holds already: a
   * key's only request, or its first, may take whatever is free.
   */
  take(key: Key, amount: number, own?: number): boolean
  give(key: Key, amount: number): void
}

/**
 * Dynamic threshold (Choudhury and Hahne, 1998): a key may hold as much as it leaves free. Alone that is a half, beside
 * one greedy key a third, so a newcomer always finds room without a fixed share per key. `ofKey` bounds a key further.
 */
export function createSharedRoom(capacity: number, ofKey = capacity): SharedRoom {
  const heldBy = new Map<Key, number>()
  let used = 0
  let refused = 0

  function change(key: Key, amount: number): void {
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
    take(key, amount, own = 0) {
      const free = capacity - used - amount
      const held = heldBy.get(key) ?? 0
      if (free < 0 || (held > own && held + amount > Math.min(free, ofKey))) {
        refused += 1
        return false
      }
      change(key, amount)
      return true
    },
    give: (key, amount) => change(key, -amount),
  }
}

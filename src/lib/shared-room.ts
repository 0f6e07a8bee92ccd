/** Whom something is shared between: a company's id, an address. */
export type Key = number | string

/** What may be watched of something that is shared. */
export interface SharedFigures {
  /** How much is taken, in the unit of what is shared. */
  readonly used: number
  /** How often somebody was sent away since the process began. */
  readonly refused: number
}

/** Bounded room that is shared by key: bytes, or places in a queue. */
export interface SharedRoom extends SharedFigures {
  /**
   * Takes so much, or nothing (false) where that is more than the share of the key. `own` is how much of it the asking call
   * holds already: a call that is its key's only one, or the first of it, may have whatever is free.
   */
  take(key: Key, amount: number, own?: number): boolean
  give(key: Key, amount: number): void
}

/**
 * A key may hold as much as it leaves free for the others (dynamic threshold; Choudhury and Hahne, 1998): alone a half, beside
 * another one that wants all a third. So there is room for a newcomer whatever the others want, without a fixed share for each.
 * `ofKey` bounds it further.
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

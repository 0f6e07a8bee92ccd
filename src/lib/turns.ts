/** How many things may happen at a time, and how many of one key may wait for it. */
export interface TurnLimits {
  readonly running: number
  readonly waiting: number
}

/** One thing of a key at a time, and a bounded number of all keys together: keys take turns, whoever has more of them waiting. */
export interface Turns {
  /** Resolves at its turn, to the function that ends it. Null when too many of the key wait already, or when `signal` ends the waiting. */
  enter(key: number, signal: AbortSignal): Promise<(() => void) | null>
}

export function createTurns({ running, waiting }: TurnLimits): Turns {
  const busy = new Set<number>()
  /** In the order in which the keys have their turns. */
  const lines = new Map<number, Set<() => void>>()

  function admit(): void {
    for (const [key, line] of lines) {
      if (busy.size >= running) return
      if (busy.has(key)) continue
      const [enter] = line
      if (enter) enter()
    }
  }

  function leave(key: number, enter: () => void): void {
    const line = lines.get(key)
    if (!line?.delete(enter)) return
    // The key's next one waits behind those of the others.
    lines.delete(key)
    if (line.size > 0) lines.set(key, line)
  }

  return {
    enter(key, signal) {
      const line = lines.get(key) ?? new Set()
      if (signal.aborted || line.size >= waiting) return Promise.resolve(null)
      return new Promise((resolve) => {
        const enter = () => {
          signal.removeEventListener('abort', giveUp)
          leave(key, enter)
          busy.add(key)
          resolve(() => {
            busy.delete(key)
            admit()
          })
        }
        const giveUp = () => {
          line.delete(enter)
          if (line.size === 0) lines.delete(key)
          resolve(null)
        }
        line.add(enter)
        lines.set(key, line)
        signal.addEventListener('abort', giveUp, { once: true })
        admit()
      })
    },
  }
}

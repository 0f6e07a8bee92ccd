/** How many things may happen at a time, and how many may wait for it. */
export interface SlotLimits {
  readonly running: number
  readonly waiting: number
}

export interface Slots {
  /**
   * Resolves when there is room, to the function that gives the room back. Null when too many wait already, or when
   * `signal` ends the waiting.
   */
  take(signal: AbortSignal): Promise<(() => void) | null>
}

/** A bounded queue before a bounded number of places, first come first served. */
export function createSlots({ running, waiting }: SlotLimits): Slots {
  let taken = 0
  const queue = new Set<() => void>()

  /** The place goes to the next in the queue, or becomes free. */
  function release(): void {
    const [next] = queue
    if (!next) {
      taken -= 1
      return
    }
    queue.delete(next)
    next()
  }

  return {
    take(signal) {
      if (signal.aborted) return Promise.resolve(null)
      if (taken < running) {
        taken += 1
        return Promise.resolve(release)
      }
      if (queue.size >= waiting) return Promise.resolve(null)
      return new Promise((resolve) => {
        const enter = () => {
          signal.removeEventListener('abort', leave)
          resolve(release)
        }
        const leave = () => {
          queue.delete(enter)
          resolve(null)
        }
        queue.add(enter)
        signal.addEventListener('abort', leave, { once: true })
      })
    },
  }
}

import { Unavailable } from './unavailable.ts'

/** How many things may happen at a time, and how many may wait for it. */
export interface SemaphoreLimits {
  readonly running: number
  readonly waiting: number
}

/** A bounded queue before a bounded number of places, first come first served. */
export interface Semaphore {
  /**
   * Resolves when there is room, to the function that gives the room back. Null when too many wait already, or when
   * `signal` ends the waiting.
   */
  acquire(signal: AbortSignal): Promise<(() => void) | null>
  /** Does `work` when there is room. @throws Unavailable at once when too many wait already, and when they wait too long. */
  run<T>(work: () => Promise<T>): Promise<T>
}

/** Whoever has waited so long for `run` is told to come again. */
const LONGEST_WAIT_MS = 20_000

export function createSemaphore({ running, waiting }: SemaphoreLimits): Semaphore {
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

  function acquire(signal: AbortSignal): Promise<(() => void) | null> {
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
  }

  return {
    acquire,
    async run(work) {
      const leave = await acquire(AbortSignal.timeout(LONGEST_WAIT_MS))
      if (!leave) throw new Unavailable('too many wait for their turn')
      try {
        return await work()
      } finally {
        leave()
      }
    },
  }
}

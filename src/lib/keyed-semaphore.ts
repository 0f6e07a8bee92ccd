import { TenantLimitExceeded } from './errors.ts'
import { createFairShareLimiter, type LimiterFigures, type ShareKey } from './fair-share-limiter.ts'
import { createPerKeyQueue } from './per-key-queue.ts'

export interface SemaphoreLimits {
  /** Concurrent holders. */
  readonly running: number
  /** Concurrent holders of one key; `running` by default. */
  readonly runningOfKey?: number
  /** Waiting requests of all keys. One key's queue is bounded by its fair share (createFairShareLimiter). */
  readonly waiting: number
  /** Further bound of one key's queue. */
  readonly waitingOfKey?: number
}

/** Semaphore with a queue per key; keys take turns. */
export interface KeyedSemaphore extends LimiterFigures {
  /**
   * Resolves to the function that releases the slot. Null if too many requests of the key wait already, the signal
   * aborts, or the wait exceeds its limit.
   */
  acquire(key: ShareKey, signal?: AbortSignal): Promise<(() => void) | null>
  /** Runs `work` in a slot. @throws TenantLimitExceeded if `acquire` returns null */
  run<T>(key: ShareKey, work: () => Promise<T>, signal?: AbortSignal): Promise<T>
}

/** Longest wait for a slot. */
const LONGEST_WAIT_MS = 20_000

/** Slots go round-robin to the waiting keys, in order of arrival within a key. */
export function createKeyedSemaphore(limits: SemaphoreLimits): KeyedSemaphore {
  const { running, runningOfKey = running } = limits
  const room = createFairShareLimiter(limits.waiting, limits.waitingOfKey)
  const lines = createPerKeyQueue<ShareKey, () => void>()
  const runningBy = new Map<ShareKey, number>()
  let taken = 0
  let givenUp = 0

  const mayBegin = (key: ShareKey): boolean => taken < running && (runningBy.get(key) ?? 0) < runningOfKey

  function begin(key: ShareKey): () => void {
    taken += 1
    runningBy.set(key, (runningBy.get(key) ?? 0) + 1)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      taken -= 1
      const left = (runningBy.get(key) ?? 0) - 1
      if (left > 0) runningBy.set(key, left)
      else runningBy.delete(key)
      callNext()
    }
  }

  function callNext(): void {
    for (const [key, call] of lines.heads()) {
      if (taken >= running) return
      if (!mayBegin(key)) continue
      lines.take(key, call)
      call()
    }
  }

  function wait(key: ShareKey, signal: AbortSignal | undefined): Promise<(() => void) | null> {
    if (signal?.aborted || !room.acquire(key, 1)) return Promise.resolve(null)
    return new Promise((resolve) => {
      const endWaiting = () => {
        room.release(key, 1)
        clearTimeout(timer)
        signal?.removeEventListener('abort', giveUp)
      }
      const called = () => {
        endWaiting()
        resolve(begin(key))
      }
      const giveUp = () => {
        endWaiting()
        givenUp += 1
        lines.remove(key, called)
        resolve(null)
      }
      lines.add(key, called)
      const timer = setTimeout(giveUp, LONGEST_WAIT_MS)
      signal?.addEventListener('abort', giveUp, { once: true })
    })
  }

  /** A free slot is taken at once only if no request of the key waits: order of arrival holds. */
  const enter: KeyedSemaphore['acquire'] = async (key, signal) =>
    mayBegin(key) && !signal?.aborted ? begin(key) : wait(key, signal)

  return {
    get used() {
      return room.used
    },
    get refused() {
      return room.refused + givenUp
    },
    acquire: enter,
    async run(key, work, signal) {
      const leave = await enter(key, signal)
      if (!leave) throw new TenantLimitExceeded('too many requests wait for a slot; try again later')
      try {
        return await work()
      } finally {
        leave()
      }
    },
  }
}

import { TenantLimitExceeded } from './errors.ts'

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

/** A queue for each key. Keys are served round-robin, the items of a key in order of arrival. */
export interface PerKeyQueue<K, T> {
  isEmpty(): boolean
  /** An item must not be added twice. */
  add(key: K, item: T): void
  /**
   * The head of each queue, starting with the key whose turn it is. A key that is served during the iteration moves to
   * the end.
   */
  heads(): Iterable<readonly [key: K, item: T]>
  /** Removes an item that is served, and moves its key to the end of the round. False if the item is absent. */
  take(key: K, item: T): boolean
  /** Removes an item that gave up; its key keeps its place in the round. */
  remove(key: K, item: T): boolean
}

export function createPerKeyQueue<K, T>(): PerKeyQueue<K, T> {
  /** In round-robin order. */
  const lines = new Map<K, Set<T>>()

  function remove(key: K, item: T): boolean {
    const line = lines.get(key)
    if (!line?.delete(item)) return false
    if (line.size === 0) lines.delete(key)
    return true
  }

  function* firsts(): Generator<readonly [K, T]> {
    for (const [key, line] of lines) {
      const [first] = line
      yield [key, first as T]
    }
  }

  return {
    isEmpty: () => lines.size === 0,
    add(key, item) {
      const line = lines.get(key) ?? new Set()
      lines.set(key, line.add(item))
    },
    heads: firsts,
    take(key, item) {
      const line = lines.get(key)
      if (!line || !remove(key, item)) return false
      if (lines.delete(key)) lines.set(key, line)
      return true
    },
    remove,
  }
}

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

/** Longest a slice may block the event loop, in ms. Bounds the latency that long jobs add to other requests. */
const SLICE_MS = 5

/** Jobs waiting for their next slice. */
const lines = createPerKeyQueue<ShareKey, () => void>()
let isScheduled = false

/** Resumes one job per turn of the event loop, so that ten long jobs take no more of it than one. */
function resumeOne(): void {
  for (const [key, resume] of lines.heads()) {
    lines.take(key, resume)
    resume()
    break
  }
  isScheduled = !lines.isEmpty()
  if (isScheduled) setImmediate(resumeOne)
}

function nextSlice(key: ShareKey): Promise<void> {
  return new Promise((resolve) => {
    lines.add(key, resolve)
    if (isScheduled) return
    isScheduled = true
    setImmediate(resumeOne)
  })
}

/**
 * Time slicing for long synchronous work, such as validating 1,000 sales. Await the returned function after each small
 * step: it yields once the slice is over. All long jobs of the process share the slices, round-robin by key.
 */
export function createTimeSlicer(key: ShareKey): () => Promise<void> {
  let ends = Number.NEGATIVE_INFINITY
  return async () => {
    if (performance.now() < ends) return
    await nextSlice(key)
    ends = performance.now() + SLICE_MS
  }
}

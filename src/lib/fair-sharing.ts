import { setFlagsFromString } from 'node:v8'
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

const SMALLEST_BYTES = 8_192
/** Larger buffers are not pooled. */
const LARGEST_BYTES = 1_048_576

/**
 * Pool of reusable buffers. Buffer memory lies outside V8's heap, and every 64 MB of new buffers start a full
 * collection. Without the pool, pages of 170 KB cost twice the processor time.
 */
export interface BufferPool {
  /** A buffer of at least `bytes` with unspecified content. One that is never released is collected as garbage. */
  take(bytes: number): Buffer<ArrayBuffer>
  /**
   * Returns a buffer to the pool. The caller must not read it or any view of it afterwards: the next user may be
   * another company.
   * @throws Error on a second release
   */
  giveBack(block: Buffer<ArrayBuffer>): void
}

/** Keeps up to `kept_bytes` of free buffers. */
export function createBufferPool(kept_bytes: number): BufferPool {
  const free = new Map<number, ArrayBuffer[]>()
  const lent = new WeakSet<Buffer>()
  let free_bytes = 0

  return {
    take(bytes) {
      const size = sizeOf(bytes)
      const memory = free.get(size)?.pop()
      if (memory) free_bytes -= size
      // A new object each time, so that a stale reference cannot release the buffer again.
      const block = Buffer.from(memory ?? new ArrayBuffer(size))
      lent.add(block)
      return block
    },
    giveBack(block) {
      if (!lent.delete(block)) throw new Error('buffer pool: buffer released twice')
      const size = block.length
      if (size > LARGEST_BYTES || free_bytes + size > kept_bytes) return
      const others = free.get(size) ?? []
      free.set(size, others)
      others.push(block.buffer)
      free_bytes += size
    },
  }
}

/** Rounds up to a power of two, so that a buffer fits similar requests. */
const sizeOf = (bytes: number): number =>
  bytes > LARGEST_BYTES ? bytes : Math.max(SMALLEST_BYTES, 2 ** Math.ceil(Math.log2(bytes)))

/** The pool of this process. */
export const bufferPool = createBufferPool(8 * 1_048_576)

/** A range of a buffer. Copying a range is cheaper than creating a view. */
export interface ByteRange<B extends Buffer = Buffer> {
  readonly bytes: B
  readonly start: number
  readonly end: number
}

/** A string, or ranges of its UTF-8 that have not been joined. */
export type EncodedText = string | readonly ByteRange[]

export const toByteRange = (text: string): ByteRange => {
  const bytes = Buffer.from(text)
  return { bytes, start: 0, end: bytes.length }
}

const partsOf = (texts: readonly EncodedText[]): ByteRange[] =>
  texts.flatMap((text) => (typeof text === 'string' ? [toByteRange(text)] : text))

const lengthOf = (parts: readonly ByteRange[]): number => parts.reduce((sum, { start, end }) => sum + end - start, 0)

function copy(parts: readonly ByteRange[], target: Buffer): void {
  let at = 0
  for (const { bytes, start, end } of parts) at += bytes.copy(target, at, start, end)
}

/** Concatenated UTF-8 of several texts. */
export function toBytes(...texts: readonly EncodedText[]): Buffer {
  const parts = partsOf(texts)
  const bytes = Buffer.allocUnsafe(lengthOf(parts))
  copy(parts, bytes)
  return bytes
}

/** The same in a pooled buffer, valid until `release`. */
export function toPooledBytes(...texts: readonly EncodedText[]): { readonly bytes: Buffer; release(): void } {
  const parts = partsOf(texts)
  const length = lengthOf(parts)
  const block = bufferPool.take(length)
  copy(parts, block)
  return { bytes: block.subarray(0, length), release: () => bufferPool.giveBack(block) }
}

export const toText = (text: EncodedText): string => (typeof text === 'string' ? text : toBytes(text).toString())

/**
 * Collects old objects after 60 % growth. By default V8 lets them grow fourfold: the service under sales then takes 300
 * MiB instead of 190, a rebuild 245 instead of 175, and neither is faster.
 */
export const lowerHeapGrowth = (): void => setFlagsFromString('--heap-growing-percent=60')

/** Bounds in bytes: for all callers together, and for one company or one client address. */
export interface MemoryLimits {
  readonly allBytes: number
  readonly companyBytes: number
}

/** The memory held for one request. */
export interface MemoryUse {
  /** @throws TenantLimitExceeded if the budget is exhausted; what was added before stays until `release`. */
  add(bytes: number): void
  /** Idempotent. */
  release(): void
}

/** Bounds memory by refusing what would exceed it. */
export interface MemoryBudget {
  /** `key` is a company's id, or a client address for unauthenticated requests. */
  open(key: ShareKey): MemoryUse
}

/**
 * Each key has its fair share (createFairShareLimiter). One request of a key is always let through: what does not fit beside
 * others must fit alone.
 */
export function createMemoryBudget({ allBytes, companyBytes }: MemoryLimits): MemoryBudget & LimiterFigures {
  const room = createFairShareLimiter(allBytes, companyBytes)
  return {
    get used() {
      return room.used
    },
    get refused() {
      return room.refused
    },
    open(key) {
      let own = 0
      return {
        add(bytes) {
          if (!room.acquire(key, bytes, own))
            throw new TenantLimitExceeded('memory budget for request bodies exhausted; try again later')
          own += bytes
        },
        release() {
          room.release(key, own)
          own = 0
        },
      }
    },
  }
}

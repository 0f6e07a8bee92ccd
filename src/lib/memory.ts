import { setFlagsFromString } from 'node:v8'
import { TenantLimitExceeded } from './errors.ts'
import { createFairShareLimiter, type LimiterFigures, type ShareKey } from './fair-sharing.ts'

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

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

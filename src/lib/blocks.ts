const SMALLEST_BYTES = 8_192
/** Larger ones are made for each, and left to the garbage collector. */
const LARGEST_BYTES = 1_048_576

/**
 * Memory for bytes that is used again. What buffers hold is not in V8's heap, and whenever 64 MB of it have come together V8 goes
 * through all of the heap: pages of 170 KB whose memory was new each time cost this process twice as much.
 */
export interface Blocks {
  /** Of so many bytes at least, with whatever was in them. One that is never given back is garbage like any other. */
  take(bytes: number): Buffer<ArrayBuffer>
  /**
   * From now on nobody may look at the block, or any part of it: the next one to have it may be of another company.
   * @throws where it was given back already
   */
  giveBack(block: Buffer<ArrayBuffer>): void
}

/** Keeps so many bytes of blocks that nobody has. */
export function createBlocks(kept_bytes: number): Blocks {
  const free = new Map<number, ArrayBuffer[]>()
  const lent = new WeakSet<Buffer>()
  let free_bytes = 0

  return {
    take(bytes) {
      const size = sizeOf(bytes)
      const memory = free.get(size)?.pop()
      if (memory) free_bytes -= size
      // Each time an object of its own, by which whoever had the block before cannot give it back.
      const block = Buffer.from(memory ?? new ArrayBuffer(size))
      lent.add(block)
      return block
    },
    giveBack(block) {
      if (!lent.delete(block)) throw new Error('a block is given back by somebody who does not have it')
      const size = block.length
      if (size > LARGEST_BYTES || free_bytes + size > kept_bytes) return
      const others = free.get(size) ?? []
      free.set(size, others)
      others.push(block.buffer)
      free_bytes += size
    },
  }
}

/** A power of two, so that a block fits the next one who needs about as much. */
const sizeOf = (bytes: number): number =>
  bytes > LARGEST_BYTES ? bytes : Math.max(SMALLEST_BYTES, 2 ** Math.ceil(Math.log2(bytes)))

/** Those of this process. */
export const blocks = createBlocks(8 * 1_048_576)

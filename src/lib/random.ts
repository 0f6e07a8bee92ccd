import { randomFillSync } from 'node:crypto'

const DRAWN_BYTES = 8_192
const drawn = Buffer.alloc(DRAWN_BYTES)
let used = drawn.length

/**
 * Random bytes, up to some dozens, that nobody else sees. They are drawn from the system many at a time: a draw costs as much as
 * all the rest of sealing a value.
 */
export function randomBytesOf(count: number): Buffer {
  if (used + count > drawn.length) {
    randomFillSync(drawn)
    used = 0
  }
  const bytes = Buffer.from(drawn.subarray(used, used + count))
  // They may become a key, which is to be nowhere else.
  drawn.fill(0, used, used + count)
  used += count
  return bytes
}

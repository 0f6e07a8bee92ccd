import { randomFillSync } from 'node:crypto'

const DRAWN_BYTES = 8_192
const drawn = Buffer.alloc(DRAWN_BYTES)
let used = drawn.length

/**
 * Up to a few dozen random bytes from a buffered draw: one system call costs as much as the rest of sealing a value.
 */
export function randomBytesOf(count: number): Buffer {
  if (used + count > drawn.length) {
    randomFillSync(drawn)
    used = 0
  }
  const bytes = Buffer.from(drawn.subarray(used, used + count))
  // The bytes may become a key: no copy may remain.
  drawn.fill(0, used, used + count)
  used += count
  return bytes
}

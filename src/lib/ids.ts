import { randomFillSync } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'

const DRAWN_BYTES = 8_192
const drawn = Buffer.alloc(DRAWN_BYTES)
let used = drawn.length

/**
 * Up to a few dozen random bytes from a buffered draw: one system call costs as much as the rest of sealing a value.
 */
export function drawRandomBytes(count: number): Buffer {
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

let last_ms = 0
let sequence = 0

/**
 * A UUID version 7, strictly increasing within the process. The package's own generator draws random bytes for each id,
 * which is slower.
 */
export function newId(): string {
  const random = drawRandomBytes(16)
  const now = Date.now()
  if (now > last_ms) {
    last_ms = now
    // The highest of the 32 bits stays clear, as room for increments within a millisecond.
    sequence = random.readUInt32BE(6) >>> 1
  } else {
    sequence = (sequence + 1) >>> 0
    if (sequence === 0) last_ms++
  }
  return uuidv7({ random, msecs: last_ms, seq: sequence })
}

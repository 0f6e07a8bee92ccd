import { v7 as uuidv7 } from 'uuid'
import { randomBytesOf } from './random.ts'

let last_ms = 0
let sequence = 0

/**
 * A UUID version 7, strictly increasing within the process. The package's own generator draws random bytes for each id,
 * which is slower.
 */
export function newId(): string {
  const random = randomBytesOf(16)
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

import { v7 as uuidv7 } from 'uuid'
import { randomBytesOf } from './random.ts'

let last_ms = 0
let sequence = 0

/** A uuid of version 7, each greater than the one before of this process. The package makes the same, but draws random bytes for each. */
export function newId(): string {
  const random = randomBytesOf(16)
  const now = Date.now()
  if (now > last_ms) {
    last_ms = now
    // Of its 32 bits the first stays free for those that follow within a millisecond.
    sequence = random.readUInt32BE(6) >>> 1
  } else {
    sequence = (sequence + 1) >>> 0
    if (sequence === 0) last_ms++
  }
  return uuidv7({ random, msecs: last_ms, seq: sequence })
}

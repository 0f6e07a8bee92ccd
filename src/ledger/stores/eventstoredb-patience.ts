import { DeadlineExceededError } from '@eventstore/db-client'
import { Unavailable } from '#lib/unavailable.ts'

/** With a server that may have stopped answering. */
export interface Patience {
  /** What `call` gives. @throws Unavailable, without calling, when another call has just waited in vain. */
  of<T>(call: () => Promise<T>): Promise<T>
  /** The server answers. */
  restore(): void
}

/**
 * After a call that ran into its time limit the following ones are refused for `lost_ms`: what queues behind it for the
 * same lock, and for the same two lanes, would otherwise wait for a time-out each, one after the other.
 */
export function createPatience(lost_ms: number): Patience {
  let lostUntil_ms = 0
  return {
    async of(call) {
      if (performance.now() < lostUntil_ms) throw new Unavailable('the event store has just not answered')
      try {
        return await call()
      } catch (error) {
        const isLost = error instanceof Unavailable || error instanceof DeadlineExceededError
        if (isLost) lostUntil_ms = performance.now() + lost_ms
        throw error
      }
    },
    restore() {
      lostUntil_ms = 0
    },
  }
}

/** @throws Unavailable when the promise does not settle in time. */
export async function withTimeout<T>(promise: Promise<T>, timeout_ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Unavailable('the event store did not answer in time')), timeout_ms)
  })
  try {
    return await Promise.race([promise, expired])
  } finally {
    clearTimeout(timer)
  }
}

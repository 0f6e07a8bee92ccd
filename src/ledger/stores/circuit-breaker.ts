import { DeadlineExceededError } from '@eventstore/db-client'
import { Unavailable } from '#lib/errors.ts'

/** Stands between callers and a server that may have stopped answering. */
export interface CircuitBreaker {
  /** What `work` gives. @throws Unavailable, without asking the server, while the circuit is open. */
  call<T>(work: () => Promise<T>): Promise<T>
  /** The server answers: nobody is refused any more. */
  close(): void
}

/**
 * A call that ran into its time limit opens the circuit, and the following ones are refused for `open_ms`: what queues behind it for the
 * same lock, and for the same two lanes, would otherwise wait for a time-out each, one after the other.
 */
export function createCircuitBreaker(open_ms: number): CircuitBreaker {
  let openUntil_ms = 0
  return {
    async call(work) {
      if (performance.now() < openUntil_ms) throw new Unavailable('the event store has just not answered')
      try {
        return await work()
      } catch (error) {
        const isLost = error instanceof Unavailable || error instanceof DeadlineExceededError
        if (isLost) openUntil_ms = performance.now() + open_ms
        throw error
      }
    },
    close() {
      openUntil_ms = 0
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

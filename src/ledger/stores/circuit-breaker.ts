import { DeadlineExceededError } from '@eventstore/db-client'
import { Unavailable } from '#lib/errors.ts'

/** Circuit breaker: fails fast while the server does not respond. */
export interface CircuitBreaker {
  /** Returns the result of `work`. @throws Unavailable, without calling the server, while the circuit is open. */
  call<T>(work: () => Promise<T>): Promise<T>
  /** Closes the circuit: the server responds. */
  close(): void
}

/**
 * A call that times out opens the circuit, and later calls are refused for `open_ms`. Without it, requests that wait
 * for the same lock and lanes would run into a time-out one after the other.
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

/** @throws Unavailable if the promise does not settle in time. */
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

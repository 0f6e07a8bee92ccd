import { setTimeout as pause } from 'node:timers/promises'

interface Patience {
  readonly timeout_ms?: number
  readonly interval_ms?: number
  /** What is awaited, for the message when it does not come. */
  readonly what?: string
}

/**
 * Asks until the answer is truthy and returns it. A test waits for what it needs, never for a length of time. An
 * exception counts as "not yet", and the last one is told when time is up.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  { timeout_ms = 10_000, interval_ms = 20, what = 'the condition' }: Patience = {},
): Promise<Exclude<T, false | null | undefined | 0 | ''>> {
  const deadline = Date.now() + timeout_ms
  let failure: unknown
  for (;;) {
    try {
      const value = await condition()
      if (value) return value as Exclude<T, false | null | undefined | 0 | ''>
      failure = undefined
    } catch (error) {
      failure = error
    }
    if (Date.now() >= deadline) throw new Error(`${what} did not come true in ${timeout_ms} ms`, { cause: failure })
    await pause(interval_ms)
  }
}

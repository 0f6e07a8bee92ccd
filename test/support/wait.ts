import { setTimeout as pause } from 'node:timers/promises'

interface Patience {
  readonly timeout_ms?: number
  readonly interval_ms?: number
  /** Awaited condition, for the message on time-out. */
  readonly what?: string
}

/**
 * Polls until the answer is truthy and returns it. Tests wait for conditions, never for a fixed time. An exception
 * counts as "not yet"; the last one is reported on time-out.
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

/** A retry comes at most this share later than scheduled, so that what failed together does not come again together. */
const JITTER = 0.1

/**
 * Milliseconds until the next attempt, after `tries` attempts that failed; null when retries are exhausted (spec, Events,
 * rule 2). `random` is 0 up to but excluding 1.
 */
export function retryDelay_ms(retrySeconds: readonly number[], tries: number, random: number): number | null {
  const seconds = retrySeconds[tries - 1]
  return seconds === undefined ? null : Math.round(seconds * 1000 + seconds * 1000 * JITTER * random)
}

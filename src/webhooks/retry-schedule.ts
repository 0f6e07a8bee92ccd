/** Retries are delayed by up to this share, so that deliveries that failed together are spread. */
const JITTER = 0.1

/**
 * Milliseconds until the next attempt after `tries` failures; null when the retries are exhausted (HOOK-18). A receiver
 * may ask for a longer pause, at most the following one. `random` is in [0, 1).
 */
export function retryDelay_ms(
  retrySeconds: readonly number[],
  tries: number,
  random: number,
  retryAfter_ms = 0,
): number | null {
  const seconds = retrySeconds[tries - 1]
  if (seconds === undefined) return null
  const ms = Math.max(seconds, Math.min(retryAfter_ms / 1000, retrySeconds[tries] ?? seconds)) * 1000
  return Math.round(ms + ms * JITTER * random)
}

import { setTimeout as delay } from 'node:timers/promises'

/** Waits; ends early, without an error, when the signal aborts. */
export const rest = (rest_ms: number, signal?: AbortSignal): Promise<void> =>
  delay(rest_ms, undefined, { signal }).catch(() => {})

const WAIT_MIN_MS = 250
const WAIT_MAX_MS = 15_000

/**
 * Repeats `work` with growing pauses until it reports that it is done or the signal aborts. Progress resets the pause.
 * An error caused by the abort is ignored.
 */
export async function retry(
  signal: AbortSignal,
  work: (onProgress: () => void) => Promise<'done' | 'again'>,
  onError: (error: unknown) => void,
): Promise<void> {
  let wait_ms = WAIT_MIN_MS
  const onProgress = () => {
    wait_ms = WAIT_MIN_MS
  }
  while (!signal.aborted) {
    try {
      if ((await work(onProgress)) === 'done') return
    } catch (error) {
      if (!signal.aborted) onError(error)
    }
    await rest(wait_ms, signal)
    wait_ms = Math.min(wait_ms * 2, WAIT_MAX_MS)
  }
}

/** The forms of RFC 9110 5.6.7: IMF-fixdate, RFC 850, asctime. All begin with the day of the week. */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [\w: -]+$/i

/**
 * Milliseconds that a Retry-After header asks to wait, in seconds or until a date: at least 0, of any size. Null if it is
 * absent or in no known form. `now` in Unix ms.
 */
export function parseRetryAfter_ms(header: string | readonly string[] | undefined, now: number): number | null {
  const text = (typeof header === 'string' ? header : header?.[0])?.trim() ?? ''
  if (/^\d+$/.test(text)) return Number(text) * 1000
  if (!HTTP_DATE.test(text)) return null
  const until = Date.parse(/\bGMT$/i.test(text) ? text : `${text} GMT`)
  return Number.isNaN(until) ? null : Math.max(0, until - now)
}

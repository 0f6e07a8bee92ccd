import { setTimeout as delay } from 'node:timers/promises'

/** Waits; ends early, without an error, when the signal aborts. */
export const rest = (rest_ms: number, signal?: AbortSignal): Promise<void> =>
  delay(rest_ms, undefined, { signal }).catch(() => {})

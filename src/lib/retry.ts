import { rest } from './rest.ts'

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

import { rest } from '#lib/rest.ts'

/**
 * Called between portions of work with the duration of the last one in ms. Delays the next one, or rejects to end the
 * work.
 */
export type WorkPace = (spent_ms: number) => Promise<void>

/** Rests of background work as a multiple of its working time: it leaves three quarters of the time to requests. */
export const RESTS = 3

/** Works a quarter of the time. */
export const unhurried =
  (signal?: AbortSignal): WorkPace =>
  (spent_ms) =>
    rest(spent_ms * RESTS, signal)

/** Runs a portion of work, waits for the pace, and returns the result. */
export async function paced<T>(pace: WorkPace | undefined, portion: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  const done = await portion()
  await pace?.(performance.now() - startedAt)
  return done
}

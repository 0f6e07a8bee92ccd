import { setTimeout as pause } from 'node:timers/promises'
import { coalesce } from '#lib/repeat.ts'

/** What waits to be written, many at a time. */
export interface Recorder<T> {
  add(item: T): void
  /** Resolves when nothing waits any more, or a last try has failed. */
  drain(): Promise<void>
}

export interface RecorderOptions<T> {
  /** Writes items in one step. */
  readonly record: (items: readonly T[]) => Promise<void>
  /** Hears what was written. */
  readonly onRecorded: (items: readonly T[]) => void
  readonly onError: (error: unknown) => void
}

/** A statement stays short, and one refused for an unknown reason does not hold up too many. */
const BATCH = 256
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000
/** A last try to write what has happened, when the process is to end and Postgres does not answer. */
const LAST_TRIES = 3

/**
 * Writes items in batches: what came while one batch was being written makes the next one. Failures are repeated with
 * growing pauses for as long as it takes: whoever adds items has to bound them.
 */
export function createRecorder<T>({ record, onRecorded, onError }: RecorderOptions<T>): Recorder<T> {
  let waiting: T[] = []
  let failures = 0
  let ending = false
  const batches = coalesce(async () => {
    const items = waiting.slice(0, BATCH)
    try {
      await record(items)
    } catch (error) {
      onError(error)
      failures += 1
      if (ending && failures >= LAST_TRIES) return
      await pause(Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS))
      return batches.ask()
    }
    failures = 0
    waiting = waiting.slice(items.length)
    onRecorded(items)
    if (waiting.length > 0) batches.ask()
  })

  return {
    add(item) {
      waiting.push(item)
      batches.ask()
    },
    drain() {
      ending = true
      return batches.idle()
    },
  }
}

import { setImmediate as nextTurn } from 'node:timers/promises'

export interface OnDemand {
  /** Has it done soon; once more if it is being done, however many ask meanwhile. */
  ask(): void
  /** Resolves when all that was asked for is done. */
  idle(): Promise<void>
}

/**
 * Coalesces what is asked for: those who ask in the same turn of the event loop share one run of `work`, those who ask while it
 * runs share the next one, and it never runs twice at the same time. `work` answers for its failures itself.
 */
export function coalesce(work: () => Promise<unknown>): OnDemand {
  let asked = false
  let running: Promise<void> | null = null

  async function run(): Promise<void> {
    await nextTurn()
    while (asked) {
      asked = false
      await work()
    }
    running = null
  }

  return {
    ask() {
      asked = true
      running ??= run()
    },
    idle: () => running ?? Promise.resolve(),
  }
}

const isAbort = (error: unknown, { aborted }: AbortSignal): boolean =>
  aborted && (error as { name?: unknown } | null)?.name === 'AbortError'

export interface Repetition {
  /** Does it without waiting for its time; once more if it is being done. */
  now(): void
  /** Aborts the signal of the run under way, and resolves when that has ended. */
  stop(): Promise<void>
}

/**
 * Does `work` now, then again `every_ms` after each time it ended, whether it failed or not. A function is asked each time how
 * long to wait. The signal aborts on `stop`; a failure that comes of it is not reported.
 */
export function repeat(
  work: (stopping: AbortSignal) => Promise<unknown>,
  every_ms: number | (() => number),
  onError: (error: unknown) => void,
): Repetition {
  const stopping = new AbortController()
  const { signal } = stopping
  let timer: NodeJS.Timeout | undefined
  const rounds = coalesce(async () => {
    clearTimeout(timer)
    if (signal.aborted) return
    await work(signal).catch((error: unknown) => {
      if (!isAbort(error, signal)) onError(error)
    })
    if (!signal.aborted) timer = setTimeout(rounds.ask, typeof every_ms === 'number' ? every_ms : every_ms())
  })
  rounds.ask()
  return {
    now: rounds.ask,
    stop() {
      stopping.abort()
      clearTimeout(timer)
      return rounds.idle()
    },
  }
}

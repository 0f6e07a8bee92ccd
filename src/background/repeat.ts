import { setImmediate as nextTurn } from 'node:timers/promises'
import { rest } from '#lib/rest.ts'

export interface OnDemand {
  /** Requests a run; requests during a run share one more. */
  ask(): void
  /** Resolves when all requested runs are done. */
  idle(): Promise<void>
}

/** Rest after each run, so that requests meanwhile share the next one; it ends early when the signal aborts. */
export interface Rest {
  readonly rest_ms: number
  readonly signal: AbortSignal
}

/**
 * Coalesces requests: those of one event-loop turn share a run of `work`, those during a run or its rest share the next,
 * and runs never overlap. `work` handles its own errors.
 */
export function coalesce(work: () => Promise<unknown>, resting?: Rest): OnDemand {
  let asked = false
  let running: Promise<void> | null = null

  async function run(): Promise<void> {
    await nextTurn()
    while (asked) {
      asked = false
      await work()
      if (resting) await rest(resting.rest_ms, resting.signal)
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
  /** Runs at once; during a run, once more after it. */
  now(): void
  /** Aborts the signal of the run under way, and resolves when that has ended. */
  stop(): Promise<void>
}

/**
 * Runs `work` now, then again `every_ms` after each run has ended, failed or not. A function is asked for the pause
 * each time. However often it is asked to run at once, it rests `rest_ms` after each run. The signal aborts on `stop`; an
 * error caused by the abort is ignored.
 */
export function repeat(
  work: (stopping: AbortSignal) => Promise<unknown>,
  every_ms: number | (() => number),
  onError: (error: unknown) => void,
  rest_ms = 0,
): Repetition {
  const stopping = new AbortController()
  const { signal } = stopping
  let timer: NodeJS.Timeout | undefined
  const round = async () => {
    clearTimeout(timer)
    if (signal.aborted) return
    await work(signal).catch((error: unknown) => {
      if (!isAbort(error, signal)) onError(error)
    })
    if (!signal.aborted) timer = setTimeout(rounds.ask, typeof every_ms === 'number' ? every_ms : every_ms())
  }
  const rounds = coalesce(round, rest_ms > 0 ? { rest_ms, signal } : undefined)
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

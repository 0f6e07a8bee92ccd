import { setImmediate as nextTurn } from 'node:timers/promises'

export interface OnDemand {
  /** Requests a run; requests during a run share one more. */
  ask(): void
  /** Resolves when all requested runs are done. */
  idle(): Promise<void>
}

/**
 * Coalesces requests: those of one event-loop turn share a run of `work`, those during a run share the next, and runs
 * never overlap. `work` handles its own errors.
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

export interface Repetition {
  /** Runs at once; during a run, once more after it. */
  now(): void
  stop(): Promise<void>
}

/**
 * Runs `work` now, then again `every_ms` after each run has ended, failed or not. A function is asked for the pause
 * each time.
 */
export function repeat(
  work: () => Promise<unknown>,
  every_ms: number | (() => number),
  onError: (error: unknown) => void,
): Repetition {
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  const rounds = coalesce(async () => {
    clearTimeout(timer)
    if (stopped) return
    await work().catch(onError)
    if (!stopped) timer = setTimeout(rounds.ask, typeof every_ms === 'number' ? every_ms : every_ms())
  })
  rounds.ask()
  return {
    now: rounds.ask,
    stop() {
      stopped = true
      clearTimeout(timer)
      return rounds.idle()
    },
  }
}

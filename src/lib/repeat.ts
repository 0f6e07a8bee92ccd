/** Work that is done again and again. */
export interface Repetition {
  /** Does it without waiting for its time; once more if it is being done. */
  now(): void
  /** Resolves when it is over. */
  stop(): Promise<void>
}

/** Does `work` now, then a while after each time it ended, whether it failed or not: never twice at the same time. */
export function repeat(work: () => Promise<unknown>, every_ms: number, onError: (error: unknown) => void): Repetition {
  let working: Promise<void> | null = null
  let again = false
  let stopped = false
  let timer: NodeJS.Timeout | undefined

  async function round(): Promise<void> {
    while (again && !stopped) {
      again = false
      await work().catch(onError)
    }
    working = null
    if (!stopped) timer = setTimeout(now, every_ms)
  }

  function now(): void {
    again = true
    clearTimeout(timer)
    if (!stopped) working ??= Promise.resolve().then(round)
  }

  now()
  return {
    now,
    async stop() {
      stopped = true
      clearTimeout(timer)
      await working
    },
  }
}

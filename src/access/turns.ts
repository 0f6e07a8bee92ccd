import { Unavailable } from '../ledger/port.ts'

/** Lets so many pieces of work run at a time; the others wait for their turn. */
export interface Turns {
  /** @throws Unavailable at once when too many wait already. */
  take<T>(work: () => Promise<T>): Promise<T>
}

export function createTurns({ atATime, waiting }: { atATime: number; waiting: number }): Turns {
  const queue: (() => void)[] = []
  let running = 0

  /** Hands the turn to whoever waits longest, or gives it up. */
  function pass(): void {
    const next = queue.shift()
    if (next) next()
    else running -= 1
  }

  return {
    async take(work) {
      if (running < atATime) running += 1
      else if (queue.length >= waiting) throw new Unavailable('too many wait for their turn')
      else await new Promise<void>((resolve) => queue.push(resolve))
      try {
        return await work()
      } finally {
        pass()
      }
    },
  }
}

import { createSlots } from './semaphore.ts'
import { Unavailable } from './unavailable.ts'

/** Whoever has waited so long is told to come again. */
const LONGEST_WAIT_MS = 20_000

/** Lets so many pieces of work run at a time; the others wait for their turn, first come first served. */
export interface Turns {
  /** @throws Unavailable at once when too many wait already, and when the turn does not come. */
  take<T>(work: () => Promise<T>): Promise<T>
}

export function createTurns({ atATime, waiting }: { readonly atATime: number; readonly waiting: number }): Turns {
  const slots = createSlots({ running: atATime, waiting })
  return {
    async take(work) {
      const release = await slots.take(AbortSignal.timeout(LONGEST_WAIT_MS))
      if (!release) throw new Unavailable('too many wait for their turn')
      try {
        return await work()
      } finally {
        release()
      }
    },
  }
}

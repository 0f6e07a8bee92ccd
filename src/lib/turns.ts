import { createSharedRoom, type Key, type SharedFigures } from './shared-room.ts'
import { Unavailable } from './unavailable.ts'

export interface TurnLimits {
  /** Turns at a time. */
  readonly running: number
  /** Turns of one key at a time; as many as there are by default. */
  readonly runningOfKey?: number
  /** Calls that wait, of all keys; one key's line is as long as its share (createSharedRoom). */
  readonly waiting: number
}

/** Something that can be done a few times at once, by one caller after the other, and by one key after the other. */
export interface Turns extends SharedFigures {
  /**
   * Resolves when it is the caller's turn, to the function that ends it. Null when too many of the key wait already, when
   * `signal` ends the waiting, or when it took too long.
   */
  take(key: Key, signal?: AbortSignal): Promise<(() => void) | null>
  /** Does `work` when it is its turn. @throws Unavailable where `take` gives none. */
  run<T>(key: Key, work: () => Promise<T>, signal?: AbortSignal): Promise<T>
}

/** Whoever has waited so long is told to come again. */
const LONGEST_WAIT_MS = 20_000

type Enter = () => void

/** Turns are given round-robin: one to each key that waits, in its line to who came first. */
export function createTurns({ running, runningOfKey = running, waiting }: TurnLimits): Turns {
  const room = createSharedRoom(waiting)
  /** Whose turn it is next comes first. */
  const lines = new Map<Key, Set<Enter>>()
  const runningBy = new Map<Key, number>()
  let taken = 0
  let givenUp = 0

  const mayEnter = (key: Key): boolean => taken < running && (runningBy.get(key) ?? 0) < runningOfKey

  function enter(key: Key): () => void {
    taken += 1
    runningBy.set(key, (runningBy.get(key) ?? 0) + 1)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      taken -= 1
      const left = (runningBy.get(key) ?? 0) - 1
      if (left > 0) runningBy.set(key, left)
      else runningBy.delete(key)
      callNext()
    }
  }

  function callNext(): void {
    for (const [key, line] of lines) {
      if (taken >= running) return
      if (!mayEnter(key)) continue
      const [next] = line as Set<Enter>
      leaveLine(key, next as Enter)
      // Others come before its next one.
      if (lines.delete(key)) lines.set(key, line)
      next?.()
    }
  }

  function leaveLine(key: Key, one: Enter): void {
    const line = lines.get(key)
    if (!line?.delete(one)) return
    room.give(key, 1)
    if (line.size === 0) lines.delete(key)
  }

  function wait(key: Key, given: AbortSignal | undefined): Promise<(() => void) | null> {
    if (given?.aborted || !room.take(key, 1)) return Promise.resolve(null)
    const limit = AbortSignal.timeout(LONGEST_WAIT_MS)
    const signal = given ? AbortSignal.any([given, limit]) : limit
    return new Promise((resolve) => {
      const called = () => {
        signal.removeEventListener('abort', giveUp)
        resolve(enter(key))
      }
      const giveUp = () => {
        givenUp += 1
        leaveLine(key, called)
        resolve(null)
      }
      const line = lines.get(key) ?? new Set()
      lines.set(key, line.add(called))
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }

  /** Nobody of a key waits while it may enter, so that nobody is passed by. */
  const take: Turns['take'] = async (key, signal) =>
    mayEnter(key) && !signal?.aborted ? enter(key) : wait(key, signal)

  return {
    get used() {
      return room.used
    },
    get refused() {
      return room.refused + givenUp
    },
    take,
    async run(key, work, signal) {
      const leave = await take(key, signal)
      if (!leave) throw new Unavailable('too many wait for their turn')
      try {
        return await work()
      } finally {
        leave()
      }
    },
  }
}

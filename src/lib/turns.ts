import { createLines } from './lines.ts'
import { createSharedRoom, type Key, type SharedFigures } from './shared-room.ts'
import { ShareTaken } from './unavailable.ts'

export interface TurnLimits {
  /** Turns at a time. */
  readonly running: number
  /** Turns of one key at a time; as many as there are by default. */
  readonly runningOfKey?: number
  /** Calls that wait, of all keys; one key's line is as long as its share (createSharedRoom). */
  readonly waiting: number
  /** Bounds one key's line further. */
  readonly waitingOfKey?: number
}

/** Something that can be done a few times at once, by one caller after the other, and by one key after the other. */
export interface Turns extends SharedFigures {
  /**
   * Resolves when it is the caller's turn, to the function that ends it. Null when too many of the key wait already, when
   * `signal` ends the waiting, or when it took too long.
   */
  enter(key: Key, signal?: AbortSignal): Promise<(() => void) | null>
  /** Does `work` when it is its turn. @throws ShareTaken where `enter` gives none. */
  run<T>(key: Key, work: () => Promise<T>, signal?: AbortSignal): Promise<T>
}

/** Whoever has waited so long is told to come again. */
const LONGEST_WAIT_MS = 20_000

/** Turns are given round-robin: one to each key that waits, in its line to who came first. */
export function createTurns(limits: TurnLimits): Turns {
  const { running, runningOfKey = running } = limits
  const room = createSharedRoom(limits.waiting, limits.waitingOfKey)
  const lines = createLines<Key, () => void>()
  const runningBy = new Map<Key, number>()
  let taken = 0
  let givenUp = 0

  const mayBegin = (key: Key): boolean => taken < running && (runningBy.get(key) ?? 0) < runningOfKey

  function begin(key: Key): () => void {
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
    for (const [key, call] of lines.firsts()) {
      if (taken >= running) return
      if (!mayBegin(key)) continue
      lines.take(key, call)
      call()
    }
  }

  function wait(key: Key, signal: AbortSignal | undefined): Promise<(() => void) | null> {
    if (signal?.aborted || !room.take(key, 1)) return Promise.resolve(null)
    return new Promise((resolve) => {
      const endWaiting = () => {
        room.give(key, 1)
        clearTimeout(timer)
        signal?.removeEventListener('abort', giveUp)
      }
      const called = () => {
        endWaiting()
        resolve(begin(key))
      }
      const giveUp = () => {
        endWaiting()
        givenUp += 1
        lines.remove(key, called)
        resolve(null)
      }
      lines.add(key, called)
      const timer = setTimeout(giveUp, LONGEST_WAIT_MS)
      signal?.addEventListener('abort', giveUp, { once: true })
    })
  }

  /** Nobody of a key waits while it may begin, so that nobody is passed by. */
  const enter: Turns['enter'] = async (key, signal) =>
    mayBegin(key) && !signal?.aborted ? begin(key) : wait(key, signal)

  return {
    get used() {
      return room.used
    },
    get refused() {
      return room.refused + givenUp
    },
    enter,
    async run(key, work, signal) {
      const leave = await enter(key, signal)
      if (!leave) throw new ShareTaken('too many wait for their turn')
      try {
        return await work()
      } finally {
        leave()
      }
    },
  }
}

/** A delivery that was taken: not sent yet, under way, or with a result that is not recorded yet. */
export interface InFlight {
  /** As `endpointOf` calls it. */
  readonly endpoint: string
  /** The endpoint was failing when the attempt was claimed. */
  readonly failing: boolean
  /** When it was sent: milliseconds, of the clock that `room` is asked with. */
  startedAt: number | null
}

/** What may be claimed now. */
export interface Room {
  /** Attempts for endpoints that answer, and for those that fail or are slow. */
  readonly sound: number
  readonly strained: number
  /** By endpoint: its attempts under way. */
  readonly busy: Readonly<Record<string, Busy>>
}

interface Busy {
  readonly attempts: number
  readonly slow: boolean
  /** Slow, or failing: it takes the room of strained endpoints. */
  readonly strained: boolean
}

/** An endpoint whose oldest attempt has been under way for longer is slow until that one ends. */
const SLOW_MS = 1_000

const SOUND_ATTEMPTS = 256
const STRAINED_ATTEMPTS = 64
/** More than both together, because an endpoint can become slow with many attempts under way. */
const ATTEMPTS = 512

/** Attempts of a company: all, and those of its strained endpoints. Half, so that others find room when all of its endpoints turn slow. */
export const OF_COMPANY = { attempts: ATTEMPTS / 2, strained: STRAINED_ATTEMPTS / 2 }

/**
 * Bulkheads: counts attempts under way by endpoint, and leaves endpoints that fail or do not answer a part of their own, so
 * that however many they are they cannot use up what the others need.
 */
export class InFlightLimiter {
  readonly #byEndpoint = new Map<string, Set<InFlight>>()
  #count = 0

  get count(): number {
    return this.#count
  }

  take(attempt: InFlight): void {
    const attempts = this.#byEndpoint.get(attempt.endpoint) ?? new Set()
    this.#byEndpoint.set(attempt.endpoint, attempts.add(attempt))
    this.#count += 1
  }

  release(attempt: InFlight): void {
    const attempts = this.#byEndpoint.get(attempt.endpoint)
    if (!attempts?.delete(attempt)) return
    if (attempts.size === 0) this.#byEndpoint.delete(attempt.endpoint)
    this.#count -= 1
  }

  room(now: number): Room {
    const busy: Record<string, Busy> = {}
    let strained = 0
    for (const [endpoint, attempts] of this.#byEndpoint) {
      // Sets keep the order of insertion: the first is the oldest.
      const [oldest] = attempts as Set<InFlight> & [InFlight]
      const slow = oldest.startedAt !== null && now - oldest.startedAt > SLOW_MS
      const isStrained = slow || oldest.failing
      busy[endpoint] = { attempts: attempts.size, slow, strained: isStrained }
      if (isStrained) strained += attempts.size
    }
    const free = ATTEMPTS - this.#count
    const forSound = clamp(SOUND_ATTEMPTS - (this.#count - strained), free)
    return { sound: forSound, strained: clamp(STRAINED_ATTEMPTS - strained, free - forSound), busy }
  }
}

const clamp = (wanted: number, available: number): number => Math.max(0, Math.min(wanted, available))

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
  /** Of each endpoint with attempts under way: how many, and whether it is slow. */
  readonly busy: Readonly<Record<string, { readonly attempts: number; readonly slow: boolean }>>
}

/** An endpoint whose oldest attempt has been under way for longer is slow until that one ends. */
const SLOW_MS = 1_000

const SOUND_ATTEMPTS = 256
const STRAINED_ATTEMPTS = 64
/** More than both together, because an endpoint can become slow with many attempts under way. */
const ATTEMPTS = 512

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
    const busy: Record<string, { attempts: number; slow: boolean }> = {}
    let strained = 0
    for (const [endpoint, attempts] of this.#byEndpoint) {
      // Sets keep the order of insertion: the first is the oldest.
      const [oldest] = attempts as Set<InFlight> & [InFlight]
      const slow = oldest.startedAt !== null && now - oldest.startedAt > SLOW_MS
      busy[endpoint] = { attempts: attempts.size, slow }
      if (slow || oldest.failing) strained += attempts.size
    }
    const free = ATTEMPTS - this.#count
    const forSound = clamp(SOUND_ATTEMPTS - (this.#count - strained), free)
    return { sound: forSound, strained: clamp(STRAINED_ATTEMPTS - strained, free - forSound), busy }
  }
}

const clamp = (wanted: number, available: number): number => Math.max(0, Math.min(wanted, available))

/** A leased delivery: queued, under way, or with an unrecorded result. */
export interface InFlightDelivery {
  /** Key as made by `endpointOf`. */
  readonly endpoint: string
  /** The endpoint was failing when the delivery was leased. */
  readonly failing: boolean
  /** Time of sending in ms, on the clock of `room`; null while queued. */
  startedAt: number | null
}

/** Free slots. */
export interface FreeSlots {
  /** Slots for endpoints that answer, and for those that fail or are slow. */
  readonly sound: number
  readonly strained: number
  /** Attempts under way by endpoint. */
  readonly busy: Readonly<Record<string, Busy>>
}

interface Busy {
  readonly attempts: number
  readonly slow: boolean
  /** Slow or failing: it uses the slots of strained endpoints. */
  readonly strained: boolean
}

/** Age of the oldest attempt from which an endpoint counts as slow, until it ends. */
const SLOW_MS = 1_000

const SOUND_ATTEMPTS = 256
const STRAINED_ATTEMPTS = 64
/** More than both together: an endpoint may become slow with many attempts under way. */
const ATTEMPTS = 512

/**
 * Attempts of a company: all, and those of its strained endpoints. Half of the slots, so that others find room when all
 * of its endpoints turn slow.
 */
export const OF_COMPANY = { attempts: ATTEMPTS / 2, strained: STRAINED_ATTEMPTS / 2 }

/**
 * Bulkheads: counts attempts by endpoint and gives failing and slow endpoints slots of their own, so that they cannot
 * use up those of the others.
 */
export class InFlightLimiter {
  readonly #byEndpoint = new Map<string, Set<InFlightDelivery>>()
  #count = 0

  get count(): number {
    return this.#count
  }

  take(attempt: InFlightDelivery): void {
    const attempts = this.#byEndpoint.get(attempt.endpoint) ?? new Set()
    this.#byEndpoint.set(attempt.endpoint, attempts.add(attempt))
    this.#count += 1
  }

  release(attempt: InFlightDelivery): void {
    const attempts = this.#byEndpoint.get(attempt.endpoint)
    if (!attempts?.delete(attempt)) return
    if (attempts.size === 0) this.#byEndpoint.delete(attempt.endpoint)
    this.#count -= 1
  }

  room(now: number): FreeSlots {
    const busy: Record<string, Busy> = {}
    let strained = 0
    for (const [endpoint, attempts] of this.#byEndpoint) {
      // Sets keep insertion order: the first is the oldest.
      const [oldest] = attempts as Set<InFlightDelivery> & [InFlightDelivery]
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

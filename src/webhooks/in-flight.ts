/** A leased delivery: queued, under way, or with an unrecorded result. */
export interface InFlight {
  /** Key as made by `endpointOf`. */
  readonly endpoint: string
  /** The endpoint was failing when the delivery was leased. */
  readonly failing: boolean
  /** Time of sending in ms, on the clock of `room`; null while queued. */
  startedAt: number | null
}

/** Free slots. */
export interface Room {
  /** Slots for endpoints that answer, and for those that fail or are slow. */
  readonly sound: number
  readonly strained: number
  /** Deliveries under way by endpoint, and whether the endpoint is slow. */
  readonly busy: Readonly<Record<string, { readonly attempts: number; readonly slow: boolean }>>
}

/** Age of the oldest attempt from which an endpoint counts as slow, until it ends. */
const SLOW_MS = 1_000

const SOUND_ATTEMPTS = 256
const STRAINED_ATTEMPTS = 64
/** More than both together: an endpoint may become slow with many attempts under way. */
const ATTEMPTS = 512

/**
 * Bulkheads: counts attempts by endpoint and gives failing and slow endpoints slots of their own, so that they cannot
 * use up those of the others.
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
      // Sets keep insertion order: the first is the oldest.
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

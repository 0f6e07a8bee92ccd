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

/** Whether the attempt succeeded; null if none was made. */
export type AttemptOutcome = boolean | null

/** Makes an attempt, or is called with true if it was given up; never throws. */
type Attempt = (isGivenUp: boolean) => Promise<AttemptOutcome>

interface Lane {
  running: number
  /** The last finished attempt failed. */
  failing: boolean
  readonly waiting: Attempt[]
}

/** Concurrent attempts per endpoint, while it succeeds and while it fails. */
const WIDTH = 32
const WIDTH_WHILE_FAILING = 1

/**
 * Queues leased deliveries by endpoint, so that an endpoint gets its next delivery right after an answer and leases are
 * taken in batches.
 */
export class EndpointLanes {
  readonly #lanes = new Map<string, Lane>()

  /** Makes an attempt in its turn and resolves when it has ended. */
  enter(endpoint: string, attempt: Attempt): Promise<void> {
    const lane = this.#lanes.get(endpoint) ?? { running: 0, failing: false, waiting: [] }
    this.#lanes.set(endpoint, lane)
    return new Promise((resolve) => {
      lane.waiting.push((isGivenUp) => attempt(isGivenUp).finally(resolve))
      this.#go(endpoint, lane)
    })
  }

  /** Gives up queued attempts of some endpoints, or of all. */
  giveUp(endpoints: Iterable<string> = this.#lanes.keys()): void {
    for (const endpoint of endpoints) {
      for (const attempt of this.#lanes.get(endpoint)?.waiting.splice(0) ?? []) void attempt(true)
    }
  }

  #go(endpoint: string, lane: Lane): void {
    while (lane.running < (lane.failing ? WIDTH_WHILE_FAILING : WIDTH)) {
      const next = lane.waiting.shift()
      if (!next) break
      lane.running += 1
      void next(false).then((succeeded) => {
        lane.running -= 1
        if (succeeded !== null) lane.failing = !succeeded
        this.#go(endpoint, lane)
      })
    }
    if (lane.running === 0) this.#lanes.delete(endpoint)
  }
}

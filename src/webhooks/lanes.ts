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

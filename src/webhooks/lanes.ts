/** Whether an attempt succeeded; null where none was made. */
export type Outcome = boolean | null

/** Makes an attempt, or gives it up without having begun; never throws. */
type Attempt = (isGivenUp: boolean) => Promise<Outcome>

interface Lane {
  running: number
  /** The last attempt that has ended failed. */
  failing: boolean
  readonly waiting: Attempt[]
}

/** Attempts of one endpoint at a time: while it answers, and while it fails. */
const WIDTH = 32
const WIDTH_WHILE_FAILING = 1

/**
 * Holds what was taken ahead, by endpoint: each gets its next delivery as soon as it has answered, without waiting for Postgres, and
 * deliveries are taken many at a time.
 */
export class Lanes {
  readonly #lanes = new Map<string, Lane>()

  /** Makes an attempt in its turn. Resolves when it has ended. */
  enter(endpoint: string, attempt: Attempt): Promise<void> {
    const lane = this.#lanes.get(endpoint) ?? { running: 0, failing: false, waiting: [] }
    this.#lanes.set(endpoint, lane)
    return new Promise((resolve) => {
      lane.waiting.push((isGivenUp) => attempt(isGivenUp).finally(resolve))
      this.#go(endpoint, lane)
    })
  }

  /** Gives up what waits for its turn: of some endpoints, or of all. */
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

/** Histogram with classes 5 % wide: percentiles of any number of times in 2 KB. */
const WIDTH = Math.log(1.05)
/** From 0.1 ms to about 20 minutes. */
const CLASSES = 340
const SMALLEST_MS = 0.1

/** Outcomes of calls of one kind. */
export class Tally {
  readonly #times = new Uint32Array(CLASSES)
  readonly #refused = new Map<string, number>()
  #answered = 0
  #timed = 0

  /** Null if the duration is unknown. */
  answered(took_ms: number | null): void {
    this.#answered += 1
    if (took_ms === null) return
    const index = Math.floor(Math.log(Math.max(took_ms, SMALLEST_MS) / SMALLEST_MS) / WIDTH)
    const place = Math.min(CLASSES - 1, index)
    this.#times[place] = (this.#times[place] ?? 0) + 1
    this.#timed += 1
  }

  /** Counts a refusal by status and code. */
  refused(why: string): void {
    this.#refused.set(why, (this.#refused.get(why) ?? 0) + 1)
  }

  get count(): number {
    return this.#answered
  }

  get refusedCount(): number {
    return [...this.#refused.values()].reduce((sum, count) => sum + count, 0)
  }

  get refusals(): ReadonlyMap<string, number> {
    return this.#refused
  }

  /** Upper end of the percentile's class, in ms; NaN without responses. */
  percentile(share: number): number {
    let left = Math.ceil(this.#timed * share)
    for (const [index, count] of this.#times.entries()) {
      left -= count
      if (count > 0 && left <= 0) return SMALLEST_MS * Math.exp((index + 1) * WIDTH)
    }
    return Number.NaN
  }
}

/** Random choices from a seed, so that a run can be repeated. */
export interface Dice {
  /** 0 up to but excluding `n`. */
  below(n: number): number
  /** `from` up to and including `to`. */
  between(from: number, to: number): number
  chance(probability: number): boolean
  pick<T>(list: readonly T[]): T
  /** Independent dice derived from these, for choices at times that the seed does not determine. */
  fork(): Dice
}

/** mulberry32: small, and random enough for tests. */
export function diceOf(seed: number): Dice {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (n: number): number => Math.floor(next() * n)
  return {
    below,
    between: (from, to) => from + below(to - from + 1),
    chance: (probability) => next() < probability,
    pick<T>(list: readonly T[]): T {
      if (list.length === 0) throw new Error('there is nothing to pick from')
      return list[below(list.length)] as T
    },
    fork: () => diceOf(Math.floor(next() * 2 ** 32)),
  }
}

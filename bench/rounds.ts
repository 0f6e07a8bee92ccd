import type { Options } from './options.ts'

/** One of the compared sides, measured for some seconds at a time. */
export interface Side {
  readonly name: string
  /** @returns the figure, per second. */
  measure(seconds: number): Promise<number>
}

/** Figures of the sides, round by round. */
export type Figures = ReadonlyMap<string, readonly number[]>

/** V8 needs some ten thousand requests to compile the code. */
export const WARM_UP_ROUNDS = 4

/**
 * Measures the sides alternately, in short rounds after a warm-up, so that other load affects all of them alike. Every
 * other round is reversed, so that no side always follows the same one.
 */
export async function measureInTurns(
  sides: readonly Side[],
  options: Pick<Options, 'rounds' | 'seconds'>,
): Promise<Figures> {
  const figures = new Map(sides.map((side) => [side.name, [] as number[]]))
  for (const side of sides) {
    for (let round = 0; round < WARM_UP_ROUNDS; round++) await side.measure(options.seconds)
  }
  for (let round = 0; round < options.rounds; round++) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      figures.get(side.name)?.push(await side.measure(options.seconds))
    }
  }
  return figures
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const [low, high] = [sorted[sorted.length % 2 === 0 ? middle - 1 : middle], sorted[middle]]
  if (low === undefined || high === undefined) throw new Error('no values have no median')
  return (low + high) / 2
}

/** Smallest value that at least this share of the values does not exceed; NaN without values. */
export const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * share) - 1)] ?? Number.NaN

/** Distance between the largest and the smallest value, as a share of the median. */
export function spread(values: readonly number[]): number {
  return (Math.max(...values) - Math.min(...values)) / median(values)
}

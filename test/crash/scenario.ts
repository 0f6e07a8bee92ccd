import { randomInt } from 'node:crypto'
import { type Dice, diceOf } from './dice.ts'

/** Long enough for a machine that does much else: what is awaited comes within seconds on one that does not. */
const TIMEOUT_MS = 240_000

/**
 * A test that is run several times, each with a seed of its own, which its title shows. CRASH_RUNS says how often instead;
 * CRASH_SEED repeats one run (`npm run test:crash -- --runs 20`, `--seed 1234`).
 */
export function scenario(title: string, runs: number, play: (dice: Dice) => Promise<void>): void {
  for (const seed of seedsOf(runs)) {
    it(`${title} (seed ${seed})`, () => play(diceOf(seed))).timeout(TIMEOUT_MS)
  }
}

/** How often a scenario is played that is usually played `runs` times. */
export const playedRuns = (runs: number): number => Number(process.env.CRASH_RUNS || runs)

function seedsOf(runs: number): number[] {
  const { CRASH_SEED } = process.env
  if (CRASH_SEED) return [Number(CRASH_SEED)]
  return Array.from({ length: playedRuns(runs) }, () => randomInt(2 ** 31))
}

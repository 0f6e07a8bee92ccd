import { DEPTH, SEED } from '../support/random.ts'
import { type Dice, diceOf } from './dice.ts'

/** Long enough for a machine that does much else: what is awaited comes within seconds on one that does not. */
const TIMEOUT_MS = 240_000

/** A test that is run once, and more often by `npm run test:deep`, each time with a seed of its own, which its title shows. */
export function scenario(title: string, play: (dice: Dice) => Promise<void>): void {
  for (let seed = SEED; seed < SEED + DEPTH; seed++)
    it(`${title} (TEST_SEED=${seed})`, () => play(diceOf(seed))).timeout(TIMEOUT_MS)
}

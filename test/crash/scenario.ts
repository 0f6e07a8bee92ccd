import { DEPTH, SEED } from '../support/random.ts'
import { type Dice, diceOf } from './dice.ts'

/** Generous for a busy machine; on an idle one every condition is met within seconds. */
const TIMEOUT_MS = 240_000

/** Declares a test that runs once, or once per seed with `npm run test:deep`; the title shows the seed. */
export function scenario(title: string, play: (dice: Dice) => Promise<void>): void {
  for (let seed = SEED; seed < SEED + DEPTH; seed++)
    it(`${title} (TEST_SEED=${seed})`, () => play(diceOf(seed))).timeout(TIMEOUT_MS)
}

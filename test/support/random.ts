import fc from 'fast-check'

/** How many times as much is tried as in `npm test`; `npm run test:deep` sets it. */
export const DEPTH = Number(process.env.TEST_DEPTH || 1)

const CI_SEED = 1
/** Without a seed of its own CI tries the same each time, and a few other cases. */
const IS_FIXED = !process.env.TEST_SEED && Boolean(process.env.CI)
/** Of the cases with the fixed seed, so many others are tried beside them. */
const SHARE_OF_OTHERS = 0.2

/** Where random cases begin; TEST_SEED repeats those of another run. */
export const SEED = Number(process.env.TEST_SEED || (IS_FIXED ? CI_SEED : newSeed()))

/** For titles of suites, so that every run tells how to repeat it. */
export const TITLE = `TEST_SEED=${SEED} TEST_DEPTH=${DEPTH}`

/** Seeds to draw cases from, and how many from each, where `npm test` tries `runs`. */
export function draws(runs: number): { readonly seed: number; readonly runs: number }[] {
  const own = { seed: SEED, runs: runs * DEPTH }
  return IS_FIXED ? [own, { seed: newSeed(), runs: Math.ceil(runs * SHARE_OF_OTHERS) }] : [own]
}

/** Holds a property against random cases; a failure shows its seed. Several properties of a suite get an `offset` each. */
export async function explore<T>(property: fc.IProperty<T> | fc.IAsyncProperty<T>, runs: number, offset = 0) {
  for (const draw of draws(runs))
    await fc.assert(property, { seed: draw.seed + offset, numRuns: draw.runs, includeErrorInReport: true })
}

function newSeed(): number {
  return Math.floor(Math.random() * 2 ** 31)
}

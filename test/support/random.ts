import fc from 'fast-check'

/** Multiple of the cases of `npm test`; set by `npm run test:deep`. */
export const DEPTH = Number(process.env.TEST_DEPTH || 1)

const CI_SEED = 1
/** CI without TEST_SEED runs the same cases each time, plus a few random ones. */
const IS_FIXED = !process.env.TEST_SEED && Boolean(process.env.CI)
/** Share of random cases, relative to those with the fixed seed. */
const SHARE_OF_OTHERS = 0.2

/** First seed of random cases; TEST_SEED repeats another run. */
export const SEED = Number(process.env.TEST_SEED || (IS_FIXED ? CI_SEED : newSeed()))

/** For suite titles, so that every run shows how to repeat it. */
export const TITLE = `TEST_SEED=${SEED} TEST_DEPTH=${DEPTH}`

/** Seeds, and the number of cases for each; `npm test` runs `runs`. */
export function draws(runs: number): { readonly seed: number; readonly runs: number }[] {
  const own = { seed: SEED, runs: runs * DEPTH }
  return IS_FIXED ? [own, { seed: newSeed(), runs: Math.ceil(runs * SHARE_OF_OTHERS) }] : [own]
}

/**
 * Checks a property with random cases; a failure prints its seed. Properties of one suite need different values of
 * `offset`.
 */
export async function explore<T>(property: fc.IProperty<T> | fc.IAsyncProperty<T>, runs: number, offset = 0) {
  for (const draw of draws(runs))
    await fc.assert(property, { seed: draw.seed + offset, numRuns: draw.runs, includeErrorInReport: true })
}

const LOW_CHARACTERS = 0xd800
const SURROGATES = 0x800

/** All code points but surrogates. The `binary` unit of fast-check first spends 1.7 s of processor time on a table of them. */
export const anyCharacter = fc.integer({ min: 0, max: 0x10ffff - SURROGATES }).map(
  (n) => String.fromCodePoint(n < LOW_CHARACTERS ? n : n + SURROGATES),
  (text) => {
    const code = (text as string).codePointAt(0) as number
    return code < LOW_CHARACTERS ? code : code - SURROGATES
  },
)

function newSeed(): number {
  return Math.floor(Math.random() * 2 ** 31)
}

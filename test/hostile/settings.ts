import type { Parameters } from 'fast-check'

/** Cases of each operation; `FUZZ_RUNS=500` looks deeper. */
export const RUNS = Number(process.env.FUZZ_RUNS ?? 9)

/** Where the random cases begin; a run that failed is repeated with the seed that it printed. */
export const SEED = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31)

/** For the titles of suites, so that every run tells its seed. */
export const TITLE = `FUZZ_SEED=${SEED} FUZZ_RUNS=${RUNS}`

/** What fast-check is run with: other cases for each property, and all the same for the same seed. */
export const fuzzing = (property: number, runs = RUNS): Parameters<unknown> => ({
  seed: SEED + property,
  numRuns: runs,
  includeErrorInReport: true,
})

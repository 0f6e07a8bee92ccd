import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'

/** `npm run test:crash -- [--runs 20] [--seed 1234] [--only text of a title]`: the crash suite alone, as often as wanted. */
const { values } = parseArgs({
  options: { runs: { type: 'string' }, seed: { type: 'string' }, only: { type: 'string' } },
})

for (const name of ['runs', 'seed'] as const) {
  const value = values[name]
  if (value === undefined || /^[1-9]\d{0,9}$/.test(value)) continue
  process.stderr.write(`--${name} takes a whole number above 0, and not "${value}"\n`)
  process.exit(2)
}

const child = spawn(
  process.execPath,
  // One after the other: what a run found is told at once, and no scenario is slowed down by another.
  [
    'node_modules/mocha/bin/mocha.js',
    '--no-parallel',
    'test/crash/*.test.ts',
    ...(values.only ? ['--fgrep', values.only] : []),
  ],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      ...(values.runs && { CRASH_RUNS: values.runs }),
      ...(values.seed && { CRASH_SEED: values.seed }),
    },
  },
)
child.once('exit', (code) => process.exit(code ?? 1))

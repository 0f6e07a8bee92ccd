import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

/**
 * `npm run test:deep -- [test/crash …] [--depth 20] [--seed 1234] [--only text of a title]`: what `npm test` leaves out,
 * and the other suites that try random cases, with so many times as many of them as there; or those of them in the folders and
 * files that are named.
 */
const { values, positionals } = parseArgs({
  options: { depth: { type: 'string', default: '10' }, seed: { type: 'string' }, only: { type: 'string' } },
  allowPositionals: true,
})

for (const name of ['depth', 'seed'] as const) {
  const value = values[name]
  if (value === undefined || /^[1-9]\d{0,9}$/.test(value)) continue
  process.stderr.write(`--${name} takes a whole number above 0, and not "${value}"\n`)
  process.exit(2)
}

/** As in package.json's `test`. */
const LEFT_OUT = ['test/browser', 'test/crash', 'test/histories', 'test/hostile', 'test/model', 'test/ops']
const isLeftOut = (file: string): boolean =>
  file.endsWith('.deep.test.ts') || LEFT_OUT.some((folder) => file.startsWith(join(folder, '/')))
const isDeep = (file: string): boolean => isLeftOut(file) || readFileSync(file, 'utf8').includes("/random.ts'")

const places = positionals.length > 0 ? positionals : ['test']
for (const place of places) {
  if (existsSync(place)) continue
  process.stderr.write(`there is no ${place}\n`)
  process.exit(2)
}
const files = places.flatMap((place) =>
  statSync(place).isFile()
    ? [place]
    : readdirSync(place, { recursive: true, encoding: 'utf8' })
        .map((file) => join(place, file))
        .filter((file) => file.endsWith('.test.ts') && isDeep(file)),
)
const seed = values.seed ?? String(1 + Math.floor(Math.random() * 2 ** 31))
const env = { ...process.env, TEST_DEPTH: values.depth, TEST_SEED: seed }
console.log(`npm run test:deep -- ${positionals.join(' ')} --depth ${values.depth} --seed ${seed}`)

const only = values.only === undefined ? [] : ['--fgrep', values.only]
// One more than elsewhere: these tests wait much, for processes to start and for leases to end.
const args = ['node_modules/mocha/bin/mocha.js', '--jobs', '4', ...only, ...files]
const child = spawn(process.execPath, args, { stdio: 'inherit', env })
child.once('exit', (code) => process.exit(code ?? 1))

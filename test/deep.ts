import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

/**
 * `npm run test:deep -- [test/crash …] [--depth 20] [--seed 1234] [--only text of a title]`: the suites that try random
 * cases, or those of them in the folders that are named, with so many times as many cases as in `npm test`.
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

const folders = positionals.length > 0 ? positionals : ['test']
const files = folders.flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => join(folder, file))
    .filter((file) => file.endsWith('.test.ts') && /(random|scenario)\.ts'/.test(readFileSync(file, 'utf8'))),
)
const seed = values.seed ?? String(1 + Math.floor(Math.random() * 2 ** 31))
const env = { ...process.env, TEST_DEPTH: values.depth, TEST_SEED: seed }
console.log(`npm run test:deep -- ${positionals.join(' ')} --depth ${values.depth} --seed ${seed}`)

const only = values.only === undefined ? [] : ['--fgrep', values.only]
const args = ['node_modules/mocha/bin/mocha.js', ...only, ...files]
const child = spawn(process.execPath, args, { stdio: 'inherit', env })
child.once('exit', (code) => process.exit(code ?? 1))

/**
 * The tests that need no database, no browser and no other process, for `npm run test:unit`: those that import, themselves
 * or through other files of test/, none of the files that provide these. Should one slip through, `useDatabase()` refuses:
 * there is no server.
 */
const { readdirSync, readFileSync } = require('node:fs')
const { join } = require('node:path')

const PROVIDERS = ['database.ts', 'server.ts', 'program.ts', 'process.ts', 'browser/chromium.ts']
const ROOT = join(__dirname, '..')
const OUTSIDE = new Set(PROVIDERS.map((file) => join(ROOT, 'test/support', file)))

/** Of a file, whether it reaches beyond its own process. */
const known = new Map()

function reachesOutside(file) {
  if (OUTSIDE.has(file)) return true
  const before = known.get(file)
  if (before !== undefined) return before
  // Whoever comes back here on a circle is answered by the rest of it.
  known.set(file, false)
  const text = readFileSync(file, 'utf8')
  const reaches =
    /from '(#postgres\/(embedded|postmaster|cluster)\.ts|pg|node:child_process)'/.test(text) ||
    importsOf(text, file).some(reachesOutside)
  known.set(file, reaches)
  return reaches
}

function importsOf(text, file) {
  const found = text.matchAll(/(?:from|import|import\() *'(\.{1,2}\/[^']+\.ts)'/g)
  return [...found].map(([, path]) => join(file, '..', path)).filter((path) => path.startsWith(join(ROOT, 'test/')))
}

exports.unitTests = () =>
  readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => join(ROOT, 'test', path))
    .filter((file) => !reachesOutside(file))
    .sort()

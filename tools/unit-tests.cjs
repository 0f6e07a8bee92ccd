/**
 * Tests for `npm run test:unit`: they use no database, browser, process, socket or clock. Neither they nor the files of
 * test/ that they import import a module that provides one. `useDatabase()` throws in a test that slips through.
 */
const { existsSync, readdirSync, readFileSync } = require('node:fs')
const { join } = require('node:path')

const PROVIDERS = ['database.ts', 'server.ts', 'program.ts', 'process.ts', 'wait.ts', 'browser/chromium.ts']
const MODULES =
  /from '(#postgres\/(embedded|postmaster|cluster)\.ts|pg|node:(child_process|http2?|https|net|tls|timers\/promises))'/
const ROOT = join(__dirname, '..')
const OUTSIDE = new Set(PROVIDERS.map((file) => join(ROOT, 'test/support', file)))

/** Whether each file imports a provider. */
const known = new Map()

function reachesOutside(file) {
  if (OUTSIDE.has(file)) return true
  const before = known.get(file)
  if (before !== undefined) return before
  // Ends the recursion for files that import each other.
  known.set(file, false)
  const text = readFileSync(file, 'utf8')
  const reaches = MODULES.test(text) || importsOf(text, file).some(reachesOutside)
  known.set(file, reaches)
  return reaches
}

function importsOf(text, file) {
  const found = text.matchAll(/(?:from|import|import\() *'(\.{1,2}\/[^']+\.ts)'/g)
  const paths = [...found].map(([, path]) => join(file, '..', path))
  // A test of imports quotes some of files that do not exist.
  return paths.filter((path) => path.startsWith(join(ROOT, 'test/')) && existsSync(path))
}

exports.unitTests = () =>
  readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => join(ROOT, 'test', path))
    .filter((file) => !reachesOutside(file))
    .sort()

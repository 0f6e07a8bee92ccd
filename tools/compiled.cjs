const { execFileSync } = require('node:child_process')
const { readdirSync, statSync } = require('node:fs')
const { join } = require('node:path')

const ROOT = join(__dirname, '..')
const SOURCES = ['src', 'commands', 'projections', 'queries', 'demo', 'verifier']
const SETTINGS = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json']
/** Written last (dist-package.cjs). */
const STAMP = 'dist/package.json'

/** When a file, or the newest below a folder, was changed; 0 where there is none. Folders tell of files that have gone. */
function changed(path) {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat?.isDirectory()) return stat?.mtimeMs ?? 0
  const below = readdirSync(path, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() || /\.(tsx?|mjs)$/.test(entry.name),
  )
  return Math.max(stat.mtimeMs, ...below.map(({ name }) => changed(join(path, name))))
}

/** Compiles the product to dist/, unless that is newer than all sources. */
exports.build = () => {
  const newest = Math.max(...[...SOURCES, ...SETTINGS].map((path) => changed(join(ROOT, path))))
  if (newest < changed(join(ROOT, STAMP))) return
  // What the compiler says is not what the program prints.
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: ROOT, stdio: ['ignore', process.stderr, 'inherit'] })
}

/** Where the code of a source file is run from. */
exports.compiledOf = (source) => join(ROOT, 'dist', source.replace(/\.tsx?$/, '.js'))

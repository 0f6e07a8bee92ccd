const { readdirSync, rmSync, statSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')
const { buildTill } = require('./till-app.cjs')

const ROOT = join(__dirname, '..')
const DIST = join(ROOT, 'dist')
exports.SOURCES = ['src', 'commands', 'projections', 'queries', 'demo']
const SETTINGS = ['package.json', 'package-lock.json', 'tsconfig.json', 'tools/compiled.cjs', 'tools/till-app.cjs']
/** Not a part of the programs: the app of the till, which browsers run. */
const TILL = ['till', 'src/http/static/base.css']
/** Written last. */
const STAMP = join(DIST, 'package.json')

const PROGRAMS = ['src/start.ts', 'src/cli/main.ts', 'src/postgres/reset.ts']

/** When a file, or the newest below a folder, was changed; 0 where there is none. Folders tell of files that have gone. */
function changed(path) {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat?.isDirectory()) return stat?.mtimeMs ?? 0
  const below = readdirSync(path, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() || /\.(tsx?|css|svg|png)$/.test(entry.name),
  )
  return Math.max(stat.mtimeMs, ...below.map(({ name }) => changed(join(path, name))))
}

/** Compiles the product to dist/, unless that is newer than all sources. */
exports.build = () => {
  const newest = Math.max(...[...exports.SOURCES, ...SETTINGS, ...TILL].map((path) => changed(join(ROOT, path))))
  if (newest < changed(STAMP)) return
  rmSync(join(DIST, 'chunks'), { recursive: true, force: true })
  exports.compile(PROGRAMS)
  buildTill()
  writeFileSync(STAMP, '{ "type": "module" }\n')
}

/**
 * Compiles programs to dist/, in few files, because linking hundreds of them would double the time of a start. Packages stay
 * in node_modules, as in tests: a bundled package may lose its exports and the files beside it.
 */
exports.compile = (programs) => {
  // Whoever finds everything compiled needs no compiler.
  const { buildSync } = require('esbuild')
  buildSync({
    absWorkingDir: ROOT,
    entryPoints: programs,
    outbase: '.',
    outdir: DIST,
    bundle: true,
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    platform: 'node',
    target: 'node20',
    format: 'esm',
    sourcemap: true,
    sourcesContent: false,
    packages: 'external',
    // A process keeps the text of its programs: in Latin 1, unless there is one character in a comment that is not.
    minifyWhitespace: true,
    lineLimit: 200,
    logLevel: 'warning',
  })
}

/** Where the code of a source file is run from. */
exports.compiledOf = (source) => join(DIST, source.replace(/\.tsx?$/, '.js'))

if (require.main === module) exports.build()

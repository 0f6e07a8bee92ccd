import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MASTER_KEY } from './master-key.ts'

const { build, compile, SOURCES } = createRequire(import.meta.url)('../../tools/compiled.cjs') as {
  build(): void
  compile(programs: readonly string[]): void
  readonly SOURCES: readonly string[]
}

/** Compiles the product once per run, before any program starts. */
export { build as buildPrograms, SOURCES }

const DIST = fileURLToPath(new URL('../../dist/', import.meta.url))

/** A path below the folder of compiled files. */
export const compiledAt = (path: string): string => join(DIST, path)

/** Compiled file of a source file. */
export const compiledOf = (source: string, folder: string = DIST): string =>
  join(folder, source.replace(/\.tsx?$/, '.js'))

const ownPrograms = new Map<string, readonly string[]>()

/** Arguments of node for a program of the tests such as `test/support/embedded-holder.ts`, compiled once per process. */
export function testProgramOf(source: string): readonly string[] {
  const known = ownPrograms.get(source)
  if (known) return known
  compile([source])
  const args = programOf(source)
  ownPrograms.set(source, args)
  return args
}

/** Arguments of node for a program such as `src/start.ts`: its compiled form, which starts much faster. */
export const programOf = (source: string, ...words: readonly string[]): string[] => programIn(DIST, source, ...words)

/** The same for another version, compiled to another folder. */
export const programIn = (folder: string, source: string, ...words: readonly string[]): string[] => [
  '--enable-source-maps',
  compiledOf(source, folder),
  ...words,
]

/** Practically unlimited quotas of the panel. */
export const NO_PANEL_QUOTA = {
  PANEL_QUOTA_PER_SESSION: '1000000',
  PANEL_QUOTA_PER_USER: '1000000',
  PANEL_QUOTA_PER_COMPANY: '1000000',
}

/** Settings of programs in a test run, with fast instead of durable servers (server.ts), and one master key. */
export const TEST_SETTINGS = {
  ALLOW_UNDURABLE_POSTGRES: 'true',
  MASTER_KEY,
  ...NO_PANEL_QUOTA,
  // Commands read files of their database from it.
  DATA_DIR: join(tmpdir(), `tillbook-commands-${process.pid}`),
}

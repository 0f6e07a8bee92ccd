import { createRequire } from 'node:module'

const { build, compiledOf } = createRequire(import.meta.url)('../../tools/compiled.cjs') as {
  build(): void
  compiledOf(source: string): string
}

/** Compiles the product, unless that is done: once for a run, before any program is started. */
export { build as buildPrograms }

/** What node is given to run a program of the product, as `src/main.ts`: its compiled form, which starts much faster. */
export const programOf = (source: string, ...words: readonly string[]): string[] => [
  '--enable-source-maps',
  compiledOf(source),
  ...words,
]

/** The servers of test runs are fast rather than durable (server.ts), which a program has to be told. */
export const UNDURABLE = { ALLOW_UNDURABLE_POSTGRES: 'true' }

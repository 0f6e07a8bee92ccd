import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { TEST_SETTINGS } from './program.ts'
import type { Snippet } from './snippets.ts'

const run = promisify(execFile)
const TSX = import.meta.resolve('tsx')
const COMPILER_OPTIONS = {
  target: 'es2023',
  module: 'nodenext',
  strict: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  types: ['node'],
  typeRoots: [resolve('node_modules/@types')],
}

interface Output {
  readonly stdout: string
  readonly stderr: string
}

/** A directory for running the snippets of a guide, as a reader would. */
export interface Workplace {
  /** Where the last script ended: at first an empty directory. */
  readonly directory: string
  /** Runs a script where the last one ended. */
  bash(script: string): Promise<Output>
  /** Writes programs under their file names in the guide. */
  write(programs: readonly Snippet[]): Promise<void>
  /** Compiles its files in strict mode. */
  compile(): Promise<void>
  runProgram(file: string): Promise<Output>
  readJson<T>(file: string): Promise<T>
  close(): Promise<void>
}

/** `env` is the whole environment of the snippets, apart from the PATH. */
export async function openWorkplace(env: Readonly<Record<string, string>>): Promise<Workplace> {
  const root = await mkdtemp(join(tmpdir(), 'tillbook-guide-'))
  let directory = root
  const inDirectory = (command: string, args: readonly string[]) =>
    run(command, args, { cwd: directory, env: { PATH: process.env.PATH, ...TEST_SETTINGS, ...env } })
  return {
    get directory() {
      return directory
    },
    async bash(script) {
      const whereItEnds = join(root, '.ends-in')
      const output = await inDirectory('bash', [
        '--norc',
        '-euo',
        'pipefail',
        '-c',
        `${script}\npwd > '${whereItEnds}'`,
      ])
      directory = (await readFile(whereItEnds, 'utf8')).trim()
      return output
    },
    async write(programs) {
      for (const { file, text } of programs) await writeFile(join(directory, file), text)
      await writeFile(join(directory, 'package.json'), '{"type":"module"}')
      await writeFile(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions: COMPILER_OPTIONS }))
    },
    async compile() {
      const compiler = fileURLToPath(import.meta.resolve('typescript/package.json')).replace('package.json', 'bin/tsc')
      await inDirectory(process.execPath, [compiler, '-p', '.']).catch(({ stdout }) => expect.fail(stdout))
    },
    runProgram: (file) => inDirectory(process.execPath, ['--import', TSX, file]),
    readJson: async (file) => JSON.parse(await readFile(join(directory, file), 'utf8')),
    close: () => rm(root, { recursive: true }),
  }
}

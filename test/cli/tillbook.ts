import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { programIn, programOf, TEST_SETTINGS } from '../support/program.ts'
import { until } from '../support/wait.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the command line in a separate process, like an operator. */
export const tillbook = (env: Readonly<Record<string, string>>, ...words: string[]): Promise<Ended> =>
  run(programOf('src/cli/main.ts', ...words), env)

/** As `tillbook`, with standard input. */
export const tillbookWith = (input: string, env: Readonly<Record<string, string>>, ...words: string[]) =>
  run(programOf('src/cli/main.ts', ...words), env, input)

/** Runs the command line of another version, compiled to another folder. */
export const tillbookIn = (folder: string, env: Readonly<Record<string, string>>, ...words: string[]): Promise<Ended> =>
  run(programIn(folder, 'src/cli/main.ts', ...words), env)

/** Runs the command line, and kills it at its first output or after the given milliseconds. */
export async function killedAfter(
  env: Readonly<Record<string, string>>,
  after: string | number,
  ...words: string[]
): Promise<void> {
  const child = start(programOf('src/cli/main.ts', ...words), env)
  const ended = once(child, 'close')
  if (typeof after === 'number') setTimeout(() => child.kill('SIGKILL'), after)
  else child.stderr.on('data', (text: Buffer) => text.includes(after) && child.kill('SIGKILL'))
  child.stdin.end()
  child.stdout.resume()
  await ended
}

/** Runs the command line, and kills it once a condition is met. @throws Error if it ends earlier */
export async function killedOnce(
  env: Readonly<Record<string, string>>,
  isSo: () => Promise<boolean>,
  ...words: string[]
): Promise<void> {
  const child = start(programOf('src/cli/main.ts', ...words), env)
  const ended = once(child, 'close')
  child.stdin.end()
  const printed: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => printed.push(text.toString()))
  await until(async () => child.exitCode !== null || (await isSo()), { timeout_ms: 60_000, what: 'the moment to kill' })
  if (child.exitCode !== null) throw new Error(`it ended by itself:\n${printed.join('')}`)
  child.kill('SIGKILL')
  await ended
}

function start(program: readonly string[], env: Readonly<Record<string, string>>) {
  const { PATH = '', HOME = '' } = process.env
  return spawn(process.execPath, program, {
    cwd: ROOT,
    env: { PATH, HOME, ...TEST_SETTINGS, ...env },
    stdio: 'pipe',
  })
}

async function run(program: readonly string[], env: Readonly<Record<string, string>>, input = ''): Promise<Ended> {
  const child = start(program, env)
  child.stdin.end(input)
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
    })
  }
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, ...output }
}

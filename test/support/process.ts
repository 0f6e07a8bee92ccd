import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '#postgres/embedded.ts'
import { programIn, programOf, TEST_SETTINGS } from './program.ts'
import { until } from './wait.ts'

/** Service in a separate process, like an operator's. */
export interface Service {
  readonly url: string
  readonly pid: number
  /** Output so far. */
  output(): string
  /** SIGTERM, then its exit code; null if a signal ended it. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
  /** Exit code, once it ends by itself. */
  ended(): Promise<number | null>
  /** SIGKILL: no chance to clean up. */
  kill(): Promise<void>
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

interface Starting {
  readonly timeout_ms?: number
  /** Folder of another version's compiled code. */
  readonly folder?: string
}

/** Starts a service with `env` on top of a plain environment, and waits until it is ready. */
export async function startService(
  env: Record<string, string>,
  { timeout_ms = 60_000, folder }: Starting = {},
): Promise<Service> {
  const port = env.PORT ?? String(await freePort(null))
  const { PATH = '', HOME = '' } = process.env
  // A separate directory, because its content belongs to the database.
  const dataDir = env.DATA_DIR === undefined ? mkdtempSync(join(tmpdir(), 'tillbook-data-')) : null
  const child = spawn(
    process.execPath,
    folder === undefined ? programOf('src/start.ts') : programIn(folder, 'src/start.ts'),
    {
      cwd: ROOT,
      env: {
        PATH,
        HOME,
        NODE_ENV: 'test',
        ...TEST_SETTINGS,
        ...(dataDir && { DATA_DIR: dataDir }),
        ...env,
        PORT: port,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  if (dataDir) child.once('exit', () => rmSync(dataDir, { recursive: true, force: true }))
  const output = collect(child)
  const url = `http://127.0.0.1:${port}`
  try {
    await until(
      async () => {
        if (hasExited(child)) return true
        return (await fetch(`${url}/health/ready`)).ok
      },
      { timeout_ms, interval_ms: 50, what: 'the readiness of the service' },
    )
    if (hasExited(child)) throw new Error(`the service ended with ${child.exitCode ?? child.signalCode}`)
  } catch (error) {
    child.kill('SIGKILL')
    throw new Error(`the service did not start:\n${output()}`, { cause: error })
  }
  return {
    url,
    pid: child.pid ?? 0,
    output,
    async ended() {
      if (!hasExited(child)) await once(child, 'exit')
      return child.exitCode
    },
    async stop(signal = 'SIGTERM') {
      await end(child, signal)
      return child.exitCode
    },
    kill: () => end(child, 'SIGKILL'),
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasExited(child)) return
  const exit = once(child, 'exit')
  child.kill(signal)
  await exit
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

function collect(child: ChildProcess): () => string {
  const chunks: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text) => chunks.push(text))
  return () => chunks.join('')
}

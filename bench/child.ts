import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '#lib/free-port.ts'
import type { Counts } from './cost/counts.ts'

export const ROOT = fileURLToPath(new URL('../', import.meta.url))

/** Server in a separate process. */
export interface Child {
  readonly url: string
  readonly pid: number
  /** Counters since its start. @throws if it does not count */
  counts(): Promise<Counts>
  stop(): Promise<void>
}

const READY_TIMEOUT_MS = 60_000
const STOP_TIMEOUT_MS = 20_000
const POLL_MS = 25

/** Module that counts the work of the program loaded after it. */
const PROBE = join(ROOT, 'dist/bench/cost/probe.js')

/**
 * Starts a compiled program that listens on PORT and waits until `ready` answers; programs with a database count their
 * work.
 */
export async function startChild(
  program: string,
  options: { env: Record<string, string>; nodeOptions: readonly string[]; ready: string; cwd: string },
): Promise<Child> {
  const port = await freePort(null)
  const { PATH = '', HOME = '' } = process.env
  // A separate directory for its database.
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'tillbook-bench-'))
  const { DATABASE_URL } = options.env
  const counting = DATABASE_URL ? [`--import=${PROBE}`] : []
  const COUNTED_PORT = DATABASE_URL ? new URL(DATABASE_URL).port : ''
  const child = spawn(process.execPath, [...options.nodeOptions, ...counting, program], {
    cwd: options.cwd,
    env: { PATH, HOME, NODE_ENV: 'production', DATA_DIR, COUNTED_PORT, ...options.env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const output: string[] = []
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text) => keep(output, text))
  const url = `http://127.0.0.1:${port}`
  try {
    await untilReady(child, `${url}${options.ready}`)
  } catch (error) {
    child.kill('SIGKILL')
    throw new Error(`${program} does not start:\n${output.join('')}`, { cause: error })
  }
  const ended = once(child, 'exit')
  void ended.then(() => rm(DATA_DIR, { recursive: true, force: true }))
  return { url, pid: child.pid as number, counts: () => countsOf(child), stop: () => stop(child) }
}

async function untilReady(child: ChildProcess, url: string): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS
  while (Date.now() < deadline) {
    if (hasEnded(child)) throw new Error('it has ended')
    const answer = await fetch(url).catch(() => null)
    if (answer?.ok) return
    await pause(POLL_MS)
  }
  throw new Error('it does not become ready')
}

async function stop(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
  await ended
  clearTimeout(timer)
}

async function countsOf(child: ChildProcess): Promise<Counts> {
  if (!child.spawnargs.some((argument) => argument.endsWith(PROBE))) throw new Error('this program does not count')
  child.send('counts')
  const [counts] = (await once(child, 'message')) as [Counts]
  return counts
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

const KEPT_CHUNKS = 200

function keep(output: string[], text: string): void {
  output.push(text)
  if (output.length > KEPT_CHUNKS) output.shift()
}

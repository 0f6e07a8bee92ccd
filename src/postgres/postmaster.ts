import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { closeSync, openSync, readFileSync, statSync } from 'node:fs'
import { open, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { basename, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Cluster, isCode, processOptions } from './cluster.ts'
import { type Share, takeShare } from './supervision.ts'

const ATTEMPTS = 10
const POLL_MS = 25
/** A server that was killed reads its log again before it answers; after a busy day on a slow disk that takes minutes. */
const RECOVERY_TIMEOUT_MS = 10 * 60_000

interface StartOptions {
  readonly settings: Record<string, string>
  readonly log: (line: string) => void
  /** The port that it must have, where others know it already; otherwise the one it had before, or any that is free. */
  readonly port?: number
  /** Ends the attempts and the waiting; a server that is just starting goes on doing so. */
  readonly signal?: AbortSignal
}

/** Starts the server of a cluster, or adopts the one that runs on it, and takes a share in it. */
export async function startOrAdopt(cluster: Cluster, options: StartOptions): Promise<Share> {
  const deadline = Date.now() + RECOVERY_TIMEOUT_MS
  let failure: unknown
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    try {
      const { server, adopted } = await start(cluster, options, deadline)
      if (options.port !== undefined && server.port !== options.port)
        throw new Error(`another process has started it on port ${server.port}, and not on ${options.port} as before`)
      const share = await takeShare(cluster.password, server)
      await writeFile(portFile(cluster), `${server.port}\n`)
      options.log(`embedded Postgres ${adopted ? 'adopted' : 'started'} (process ${server.pid}, port ${server.port})`)
      return share
    } catch (error) {
      options.signal?.throwIfAborted()
      failure = error
    }
    // It lost the race for lock file or port, was just going down, or its predecessor's last processes are still leaving.
    await pause(attempt * 100, undefined, options)
  }
  const reason = failure instanceof Error ? failure.message.trim() : String(failure)
  throw new Error(`The embedded Postgres in ${cluster.directory} does not start: ${reason}`, { cause: failure })
}

async function start(cluster: Cluster, options: StartOptions, deadline: number) {
  const present = await whenReady(cluster, null, deadline, options)
  if (present) return { server: present, adopted: true }
  await removeStaleLock(cluster.directory)
  const logSize = await stat(logFile(cluster)).then(
    (file) => file.size,
    () => 0,
  )
  const port = options.port ?? (await freePort(await rememberedPort(cluster)))
  const child = launch(cluster, port, options.settings)
  const server = await whenReady(cluster, child, deadline, options)
  if (!server) throw new Error(await logSince(cluster, logSize))
  return { server, adopted: server.pid !== child.pid }
}

/** Waits until the server on this directory accepts connections, or until there is none (any more). */
async function whenReady(
  cluster: Cluster,
  child: ChildProcess | null,
  deadline: number,
  { signal }: StartOptions,
): Promise<Postmaster | null> {
  let gone = child === null
  let failure: Error | undefined
  child?.once('exit', () => {
    gone = true
  })
  child?.once('error', (error) => {
    failure = error
  })
  while (Date.now() < deadline) {
    const server = await findPostmaster(cluster.directory)
    if (failure) throw failure
    if (server?.ready) return server
    if (!server && gone) return null
    await pause(POLL_MS, undefined, { signal })
  }
  throw new Error(`It does not become ready; see ${logFile(cluster)}.`)
}

function portFile(cluster: Cluster): string {
  return join(cluster.dataDir, 'postgres-port')
}

async function rememberedPort(cluster: Cluster): Promise<number | null> {
  const port = Number(await readFile(portFile(cluster), 'utf8').catch(() => ''))
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : null
}

async function logSince(cluster: Cluster, position: number): Promise<string> {
  const file = await open(logFile(cluster))
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(4_000), position })
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

const SHUTDOWN_TIMEOUT_MS = 60_000

/** A small machine's share: loopback only, no socket files, durable. Tests may override. */
const SETTINGS: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '128MB',
  jit: 'off',
  // A page's first change after a checkpoint is logged as the whole page: a third more log for a sale than while there is none. What
  // is to be replayed after a crash stays bounded by max_wal_size.
  checkpoint_timeout: '15min',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  // The errors of statements reach the service with the values of rows in them; the server's log must not keep those.
  log_min_messages: 'log',
}

/** What a running server says of itself in its lock file. */
interface Postmaster {
  readonly pid: number
  readonly port: number
  readonly ready: boolean
}

/** The server that runs on `directory`, also while it still starts or is stopping; null if none does. */
export async function findPostmaster(directory: string): Promise<Postmaster | null> {
  const lock = await readLock(directory)
  return lock && isPostmaster(lock.pid, directory) ? lock : null
}

/** Starts a server, detached: it is not in the terminal's process group, so that Ctrl-C reaches only the service. */
function launch(cluster: Cluster, port: number, settings: Record<string, string>): ChildProcess {
  const log = openSync(logFile(cluster), 'a', 0o600)
  try {
    const all = Object.entries({ ...SETTINGS, ...settings, port: String(port) })
    const args = ['-D', cluster.directory, ...all.flatMap(([name, value]) => ['-c', `${name}=${value}`])]
    const child = spawn(cluster.binaries.postgres, args, {
      cwd: '/',
      detached: true,
      stdio: ['ignore', log, log],
      ...processOptions(cluster.account),
    })
    child.unref()
    return child
  } finally {
    closeSync(log)
  }
}

/** Where the server's own messages go. */
function logFile(cluster: Cluster): string {
  return join(cluster.dataDir, 'postgres.log')
}

/** A fast shutdown: open transactions are rolled back, everything committed is on disk when this returns. */
export async function shutDown(directory: string): Promise<void> {
  const server = await findPostmaster(directory)
  if (!server) return
  // SIGQUIT is the last resort: as safe for what is committed, but the next start has to recover.
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    try {
      process.kill(server.pid, signal)
    } catch (error) {
      if (!isCode(error, 'ESRCH')) throw error
    }
    const deadline = Date.now() + SHUTDOWN_TIMEOUT_MS
    while (Date.now() < deadline) {
      if ((await findPostmaster(directory))?.pid !== server.pid) return
      await pause(POLL_MS)
    }
  }
  throw new Error(`The embedded Postgres (process ${server.pid}) does not stop.`)
}

/**
 * Removes the lock file that a killed server left, if its process id meanwhile belongs to some other program (as after the
 * restart of a container): Postgres would take that one for its server. An id that belongs to nobody it handles itself.
 */
async function removeStaleLock(directory: string): Promise<void> {
  const lock = await readLock(directory)
  if (lock && isAlive(lock.pid) && !isPostmaster(lock.pid, directory))
    await rm(join(directory, 'postmaster.pid'), { force: true })
}

/** Systems give higher ones to connections as they are made, so that a server which goes down might find its own taken when it comes back. */
const PORTS = { from: 20_000, to: 32_768 }
const PORT_TRIES = 50

/** `preferred` if it is free on the loopback interface, else any free port that stays free of connections. */
export async function freePort(preferred: number | null): Promise<number> {
  if (preferred !== null && (await isFree(preferred))) return preferred
  for (let tries = 0; tries < PORT_TRIES; tries++) {
    const port = randomInt(PORTS.from, PORTS.to)
    if (await isFree(port)) return port
  }
  throw new Error(`Of ${PORT_TRIES} ports from ${PORTS.from} to ${PORTS.to} none is free.`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

async function readLock(directory: string): Promise<Postmaster | null> {
  const lines = await readFile(join(directory, 'postmaster.pid'), 'utf8').then(
    (text) => text.split('\n'),
    (error) => {
      if (isCode(error, 'ENOENT')) return []
      throw error
    },
  )
  // Line 1 is the process id, 4 the port, 8 the state.
  const [pid, port] = [Number(lines[0]), Number(lines[3])]
  return pid > 0 && port > 0 ? { pid, port, ready: lines[7]?.trim() === 'ready' } : null
}

/** Whether `pid` is a server on `directory`, which is then its working directory, and not a program that got its number. */
function isPostmaster(pid: number, directory: string): boolean {
  if (process.platform !== 'linux') return programOf(pid) === 'postgres'
  try {
    const [theirs, ours] = [statSync(`/proc/${pid}/cwd`), statSync(directory)]
    return theirs.dev === ours.dev && theirs.ino === ours.ino && programOf(pid) === 'postgres'
  } catch (error) {
    // In a container, root may not look into processes of others: their name then has to do.
    return isCode(error, 'EACCES') && programOf(pid) === 'postgres'
  }
}

function programOf(pid: number): string | null {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
    return basename(execFileSync('ps', ['-o', 'comm=', '-p', String(pid)], { encoding: 'utf8' }).trim())
  } catch {
    return null
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return isCode(error, 'EPERM')
  }
}

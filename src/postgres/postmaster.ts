import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, readFileSync, statSync } from 'node:fs'
import { open, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { freePort } from '#lib/free-port.ts'
import type { Cluster } from './cluster.ts'

/** A killed server replays its log before it accepts connections: minutes, after a busy day on a slow disk. */
const RECOVERY_TIMEOUT_SECONDS = 600
const SHUTDOWN_TIMEOUT_SECONDS = 60
/** Bytes of the server's log in an error message. */
const EXCERPT_BYTES = 4_000

/** Settings for a small machine: loopback only, no socket files, durable. Tests may override them. */
const SETTINGS: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '128MB',
  jit: 'off',
  // The first change of a page after a checkpoint logs the whole page, which adds a third to the log of a sale. The
  // replay after a crash is still bounded by max_wal_size.
  checkpoint_timeout: '15min',
  // Commits wait while a file of the log is created, so those of a busy hour are kept for the next one.
  min_wal_size: '512MB',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  // Statement errors contain values of rows. The service receives them; the server's log must not keep them.
  log_min_messages: 'log',
}

/** Content of the server's lock file. */
interface Lock {
  readonly pid: number
  readonly port: number
}

/**
 * Starts the server, waits until it accepts connections, and returns its port: `port` or, if that is null, the port of
 * the last start or any free one. pg_ctl detaches the server from the terminal, so that Ctrl-C reaches only the
 * service.
 */
export async function startPostmaster(
  { dataDir, directory, binaries, options }: Cluster,
  settings: Record<string, string>,
  port: number | null,
  signal: AbortSignal,
): Promise<number> {
  await removeStaleLock(directory)
  const [portFile, logFile] = [join(dataDir, 'postgres-port'), join(dataDir, 'postgres.log')]
  const chosen = port ?? (await freePort(Number(await readFile(portFile, 'utf8').catch(() => '')) || null))
  const all = Object.entries({ ...SETTINGS, ...settings, port: String(chosen) })
  const flags = all.map(([name, value]) => `-c '${name}=${value}'`).join(' ')
  const args = ['start', '-s', '-w', '-t', String(RECOVERY_TIMEOUT_SECONDS), '-D', directory, '-o', flags]
  const log = await open(logFile, 'a', 0o600)
  try {
    const { size } = await log.stat()
    // On SIGINT pg_ctl ends the server, too.
    const child = { ...options, detached: true, signal, killSignal: 'SIGINT' as const }
    const [code] = await once(spawn(binaries.pg_ctl, args, { ...child, stdio: ['ignore', log.fd, log.fd] }), 'exit')
    if (code !== 0) throw new Error(await text(createReadStream(logFile, { start: size, end: size + EXCERPT_BYTES })))
    await writeFile(portFile, `${chosen}\n`)
    return chosen
  } finally {
    await log.close()
  }
}

/** Rolls back open transactions; all commits are on disk when this returns. */
export async function stopPostmaster({ directory, binaries, options }: Cluster): Promise<void> {
  // `immediate` keeps all commits, too, but the next start has to recover.
  for (const mode of ['fast', 'immediate']) {
    if (!(await findPostmaster(directory))) return
    const args = ['stop', '-s', '-w', '-t', String(SHUTDOWN_TIMEOUT_SECONDS), '-D', directory, '-m', mode]
    await once(spawn(binaries.pg_ctl, args, { ...options, stdio: 'ignore' }), 'exit')
  }
  throw new Error(`the embedded Postgres in ${directory} does not stop`)
}

/** The server of `directory`, including one that is starting or stopping; null if there is none. */
export async function findPostmaster(directory: string): Promise<Lock | null> {
  const lock = await readLock(directory)
  return lock && isPostmaster(lock.pid, directory) ? lock : null
}

/**
 * Removes the lock file of a killed server if its process id now belongs to another program, as after a restart of a
 * container: Postgres would take that program for its server. Postgres itself removes the file if the process is gone.
 */
async function removeStaleLock(directory: string): Promise<void> {
  const lock = await readLock(directory)
  if (lock && programOf(lock.pid) && !isPostmaster(lock.pid, directory)) await rm(join(directory, 'postmaster.pid'))
}

async function readLock(directory: string): Promise<Lock | null> {
  const content = await readFile(join(directory, 'postmaster.pid'), 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  // Line 1 is the process id, 4 the port.
  const [pid, , , port] = content.split('\n').map(Number)
  return pid && port ? { pid, port } : null
}

/**
 * Whether `pid` is a server with `directory` as its working directory, and not a program that reuses the process id.
 */
function isPostmaster(pid: number, directory: string): boolean {
  if (programOf(pid) !== 'postgres') return false
  if (process.platform !== 'linux') return true
  try {
    const [theirs, ours] = [statSync(`/proc/${pid}/cwd`), statSync(directory)]
    return theirs.dev === ours.dev && theirs.ino === ours.ino
  } catch (error) {
    // In a container, root may not inspect processes of other users; then the process name decides.
    return (error as NodeJS.ErrnoException).code === 'EACCES'
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

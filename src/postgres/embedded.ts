import { execFileSync, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream, readFileSync, statSync } from 'node:fs'
import { open, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { retry } from '#lib/background-loops.ts'
import { Unavailable } from '#lib/errors.ts'
import { type Cluster, prepareCluster, SUPERUSER } from './cluster.ts'
import { deriveServicePassword, ensureServiceRole, SERVICE_ROLE } from './migrate.ts'

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
async function startPostmaster(
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
async function stopPostmaster({ directory, binaries, options }: Cluster): Promise<void> {
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

const DATABASE = 'tillbook'
/** Advisory lock of the process that owns the server; it ends with that process. */
const OWNER_LOCK = 8_314_159_265
/** Wait for another owner: a service may be shutting down, and a command ends soon. */
const OWNER_TIMEOUT_MS = { service: 3_000, command: 30_000 }
const POLL_MS = 100
const CONNECT_TIMEOUT_MS = 10_000
/** Start: about eight seconds. Restart: pauses grow to 15 seconds, ten minutes in all. */
const ATTEMPTS = { start: 6, restart: 40 }
/** Minimum uptime that resets the number of restarts. */
const STEADY_MS = 5_000
/** SQLSTATE of a server that starts, recovers or stops. */
const CANNOT_CONNECT_NOW = '57P03'

/** Another process owns the embedded Postgres. */
export class DataDirInUse extends Unavailable {}

interface EmbeddedOptions {
  readonly dataDir: string
  /** A command uses the server of a running service. */
  readonly kind?: 'service' | 'command'
  readonly settings?: Record<string, string>
  readonly log?: (message: string, error: unknown) => void
  /** Called if the server was lost and could not be restarted. */
  readonly onFailure?: () => void
  readonly attempts?: Partial<typeof ATTEMPTS>
}

/** Connection of the owner. While it is open, no other process can own the server. */
interface Session {
  readonly client: pg.Client
  readonly port: number
  readonly isOwner: boolean
  /** Resolves when the connection has ended, on purpose or because the server is gone. */
  readonly lost: Promise<void>
}

/**
 * Starts the Postgres of `dataDir`, or takes over one that a killed process left running, and restarts it if it dies.
 * Creates cluster and database the first time. @throws DataDirInUse
 */
export async function startEmbedded(options: EmbeddedOptions) {
  const { dataDir, kind = 'service', settings = {} } = options
  const isRunning = async (directory: string) => (await findPostmaster(directory)) !== null
  const cluster = await prepareCluster(dataDir, { sync: settings.fsync !== 'off', isRunning })
  const servicePassword = deriveServicePassword(cluster.password)
  const stopping = new AbortController()
  const { signal } = stopping
  const open = async (former: number | null): Promise<Session> => {
    const running = await findPostmaster(cluster.directory)
    const port = running?.port ?? (await startPostmaster(cluster, settings, former, signal))
    if (former !== null && port !== former) throw new Error(`it runs on port ${port}, and not on ${former} as before`)
    return connect(cluster, port, kind)
  }
  const close = async (session: Session | null): Promise<void> => {
    if (session?.isOwner) await stopPostmaster(cluster)
    await session?.client.end()
  }
  const first = (await persist(() => open(null), options.attempts?.start ?? ATTEMPTS.start, signal)) as Session
  const { port, client, isOwner } = first
  try {
    await createDatabase(client)
    await ensureServiceRole(client, SERVICE_ROLE, servicePassword)
  } catch (error) {
    await close(first)
    throw error
  }
  const last = isOwner ? supervise(first, () => open(port), signal, options) : Promise.resolve(first)
  const closed = last.then(close)
  return {
    /** URL of the service's role. It stays the same after a restart of the server. */
    url: urlOf(SERVICE_ROLE, servicePassword, port, DATABASE),
    /** URL of the superuser, the owner of tables that the service may only append to. */
    ownerUrl: urlOf(SUPERUSER, cluster.password, port, DATABASE),
    /** Stops the server, if this process owns it. */
    stop() {
      stopping.abort()
      return closed
    },
  }
}

/** Restarts the server when it is lost, until `signal` aborts. Resolves with the session of the running server. */
async function supervise(
  first: Session,
  open: () => Promise<Session>,
  signal: AbortSignal,
  { log = () => {}, onFailure = () => {}, attempts }: EmbeddedOptions,
): Promise<Session | null> {
  const stopped = once(signal, 'abort')
  const restarts = attempts?.restart ?? ATTEMPTS.restart
  const onRetry = (error: unknown) => log('postgres: restart of the embedded server failed, will retry', error)
  try {
    let session: Session | null = first
    let losses = 0
    while (session) {
      const since = performance.now()
      await Promise.race([session.lost, stopped])
      if (signal.aborted) return session
      log('postgres: embedded server lost, restarting', new Error('its connection has ended'))
      losses = performance.now() - since < STEADY_MS ? losses + 1 : 0
      if (losses > restarts) throw new Error(`it was lost ${losses} times soon after its start`)
      session = await persist(open, restarts, signal, onRetry)
    }
    return null
  } catch (error) {
    log('postgres: embedded server given up, stopping', error)
    onFailure()
    return null
  }
}

/** Retries while another start, a stopping server or a full disk prevents the work. Null if `signal` aborts. */
async function persist(
  open: () => Promise<Session>,
  attempts: number,
  signal: AbortSignal,
  onRetry: (error: unknown) => void = () => {},
): Promise<Session | null> {
  let session: Session | null = null
  let failures = 0
  const work = async () => {
    session = await open()
    return 'done' as const
  }
  await retry(signal, work, (error) => {
    failures += 1
    const isRecovering = (error as { code?: unknown }).code === CANNOT_CONNECT_NOW
    if (error instanceof DataDirInUse || failures >= (isRecovering ? ATTEMPTS.restart : attempts)) throw error
    onRetry(error)
  })
  return session
}

async function connect(cluster: Cluster, port: number, kind: 'service' | 'command'): Promise<Session> {
  const { dataDir, password } = cluster
  const client = new pg.Client({
    connectionString: urlOf(SUPERUSER, password, port, 'postgres'),
    application_name: `tillbook ${kind} ${process.pid}`,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  })
  // A running query fails by itself, and `lost` reports the end of the connection.
  client.on('error', () => {})
  const lost = new Promise<void>((resolve) => client.once('end', resolve))
  try {
    await client.connect()
    return { client, port, lost, isOwner: await own(client, kind, dataDir) }
  } catch (error) {
    await client.end().catch(() => {})
    throw error
  }
}

const OWN = `select pg_try_advisory_lock($1) as owns, (
  select application_name from pg_stat_activity join pg_locks using (pid)
  where locktype = 'advisory' and granted and (classid::bigint << 32) | objid::bigint = $1 and pid <> pg_backend_pid()
) as owner`

/** Makes this process the owner; false for a command beside a service. @throws DataDirInUse */
async function own(client: pg.Client, kind: 'service' | 'command', dataDir: string): Promise<boolean> {
  for (let waited_ms = 0; ; waited_ms += POLL_MS) {
    const { rows } = await client.query<{ owns: boolean; owner: string | null }>(OWN, [OWNER_LOCK])
    if (rows[0]?.owns) return true
    const [, owner = '', pid] = rows[0]?.owner?.split(' ') ?? []
    if (owner === 'service' && kind === 'command') return false
    if (waited_ms >= OWNER_TIMEOUT_MS[owner === 'service' ? 'service' : 'command']) {
      const remedy = 'stop it or wait until it ends, or set another DATA_DIR'
      const several = 'several services need a Postgres of your own (DATABASE_URL)'
      throw new DataDirInUse(`${dataDir} is in use by a tillbook ${owner} (process ${pid}): ${remedy}; ${several}`)
    }
    await pause(POLL_MS)
  }
}

async function createDatabase(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE])
  if (rowCount !== 0) return
  await client.query(`create database ${DATABASE}`).catch((error) => {
    // A service and a command may try to create it at the same time.
    if (error.code !== '42P04' && error.code !== '23505') throw error
  })
}

function urlOf(role: string, password: string, port: number, database: string): string {
  return `postgres://${role}:${password}@127.0.0.1:${port}/${database}`
}

/** Systems give higher ones to outgoing connections: a server that restarts could find its own port taken. */
const PORTS = { from: 20_000, to: 32_768 }
const PORT_TRIES = 50

/** `preferred` if it is free on the loopback interface, else any free port below those of outgoing connections. */
export async function freePort(preferred: number | null): Promise<number> {
  for (let tries = 0; tries < PORT_TRIES; tries++) {
    const port = (tries === 0 && preferred) || randomInt(PORTS.from, PORTS.to)
    if (await isFree(port)) return port
  }
  throw new Error(`none of ${PORT_TRIES} ports from ${PORTS.from} to ${PORTS.to} is free`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

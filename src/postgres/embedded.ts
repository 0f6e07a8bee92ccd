import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { Unavailable } from '#lib/errors.ts'
import { retry } from '#lib/retry.ts'
import { type Cluster, prepareCluster, SUPERUSER } from './cluster.ts'
import { findPostmaster, startPostmaster, stopPostmaster } from './postmaster.ts'
import { ensureServiceRole, SERVICE_ROLE, servicePasswordOf } from './service-role.ts'

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
  const servicePassword = servicePasswordOf(cluster.password)
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
  const onRetry = (error: unknown) => log('the embedded Postgres could not be started again', error)
  try {
    let session: Session | null = first
    let losses = 0
    while (session) {
      const since = performance.now()
      await Promise.race([session.lost, stopped])
      if (signal.aborted) return session
      log('the embedded Postgres was lost, and is started again', new Error('its connection has ended'))
      losses = performance.now() - since < STEADY_MS ? losses + 1 : 0
      if (losses > restarts) throw new Error(`it was lost ${losses} times soon after its start`)
      session = await persist(open, restarts, signal, onRetry)
    }
    return null
  } catch (error) {
    log('the embedded Postgres is given up', error)
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

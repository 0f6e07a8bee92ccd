import type { ChildProcess } from 'node:child_process'
import { open, readFile, realpath, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { type Cluster, prepareCluster, readPassword, SUPERUSER } from './cluster.ts'
import { findPostmaster, freePort, launch, logFile, type Postmaster, removeStaleLock, shutDown } from './postmaster.ts'

const DATABASE = 'tillbook'
const ATTEMPTS = 6
const POLL_MS = 25
/** A server that was killed reads its log again before it answers; after a busy day on a slow disk that takes minutes. */
const RECOVERY_TIMEOUT_MS = 10 * 60_000
/** Advisory lock, shared by all processes that use the server: it goes down with the last of them. */
const USERS_LOCK = 8_314_159_265

/** A real PostgreSQL that belongs to this service. */
export interface EmbeddedPostgres {
  readonly url: string
  /** Shuts the server down in an orderly way, unless another living process still uses it. */
  stop(): Promise<void>
}

interface Options {
  readonly dataDir: string
  readonly log?: (line: string) => void
  readonly settings?: Record<string, string>
}

/**
 * Starts the Postgres of `dataDir`, or adopts the one that a killed process left running there or another one has just
 * started. Creates cluster and database the first time.
 */
export async function startEmbedded({ dataDir, log = () => {}, settings = {} }: Options): Promise<EmbeddedPostgres> {
  const cluster = await prepareCluster(dataDir, { sync: settings.fsync !== 'off' })
  const { port, session } = await startOrAdopt(cluster, settings, log)
  try {
    await createDatabase(session)
  } catch (error) {
    await leave(session, cluster, log)
    throw error
  }
  let stopping: Promise<void> | undefined
  return {
    url: urlOf(cluster.password, port, DATABASE),
    stop() {
      stopping ??= leave(session, cluster, log)
      return stopping
    },
  }
}

/**
 * The URL of a server that already runs on `dataDir`, or null. For a command beside a running service: nothing is
 * started, and the server is not owned.
 */
export async function findEmbedded(dataDir: string): Promise<string | null> {
  const home = await realpath(dataDir).catch(() => null)
  if (!home) return null
  const server = await findPostmaster(join(home, 'postgres'))
  return server?.ready ? urlOf(await readPassword(home, { create: false }), server.port, DATABASE) : null
}

/** Stops a server left over on `dataDir`; false if a living process uses it, which then keeps it. */
export async function stopLeftOver(dataDir: string): Promise<boolean> {
  const home = await realpath(dataDir)
  const directory = join(home, 'postgres')
  const server = await findPostmaster(directory)
  if (!server?.ready) {
    // It is still recovering, so that nobody uses it yet, or on its way out.
    await shutDown(directory)
    return true
  }
  const session = await enter(await readPassword(home, { create: false }), server)
  try {
    if (!(await isLast(session))) return false
    await shutDown(directory)
    return true
  } finally {
    await session.end().catch(() => {})
  }
}

async function startOrAdopt(cluster: Cluster, settings: Record<string, string>, log: (line: string) => void) {
  const deadline = Date.now() + RECOVERY_TIMEOUT_MS
  let failure: unknown
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    try {
      const { server, adopted } = await start(cluster, settings, deadline)
      const session = await enter(cluster.password, server)
      await writeFile(portFile(cluster), `${server.port}\n`)
      log(`embedded Postgres ${adopted ? 'adopted' : 'started'} (process ${server.pid}, port ${server.port})`)
      return { port: server.port, session }
    } catch (error) {
      failure = error
    }
    // It lost the race for lock file or port, was just going down, or its predecessor's last processes are still leaving.
    await pause(attempt * 100)
  }
  const reason = failure instanceof Error ? failure.message.trim() : String(failure)
  throw new Error(`The embedded Postgres in ${cluster.directory} does not start: ${reason}`, { cause: failure })
}

async function start(cluster: Cluster, settings: Record<string, string>, deadline: number) {
  const present = await settled(cluster, null, deadline)
  if (present) return { server: present, adopted: true }
  await removeStaleLock(cluster.directory)
  const logSize = await stat(logFile(cluster)).then(
    (file) => file.size,
    () => 0,
  )
  const child = launch(cluster, await freePort(await rememberedPort(cluster)), settings)
  const server = await settled(cluster, child, deadline)
  if (!server) throw new Error(await logSince(cluster, logSize))
  return { server, adopted: server.pid !== child.pid }
}

/** Waits until the server on this directory accepts connections, or until there is none (any more). */
async function settled(cluster: Cluster, child: ChildProcess | null, deadline: number): Promise<Postmaster | null> {
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
    await pause(POLL_MS)
  }
  throw new Error(`It does not become ready; see ${logFile(cluster)}.`)
}

/** One connection as long as the server is used: a killed process lets go of the lock without having to do anything. */
async function enter(password: string, { port }: Postmaster): Promise<pg.Client> {
  const session = sessionOn(urlOf(password, port, 'postgres'))
  try {
    await session.connect()
    await session.query('select pg_advisory_lock_shared($1)', [USERS_LOCK])
    return session
  } catch (error) {
    await session.end().catch(() => {})
    throw error
  }
}

async function leave(session: pg.Client, cluster: Cluster, log: (line: string) => void): Promise<void> {
  try {
    // A session that was lost says nothing about others; then the server is taken down, as its owner asked for.
    const last = await isLast(session).catch(() => true)
    if (last) await shutDown(cluster.directory)
    log(last ? 'embedded Postgres stopped' : 'embedded Postgres goes on for another process that uses it')
  } finally {
    await session.end().catch(() => {})
  }
}

/** Gives up the share in the server. If nobody else has one, the lock is held alone from then on: nobody comes in any more. */
async function isLast(session: pg.Client): Promise<boolean> {
  await session.query('select pg_advisory_unlock_shared($1)', [USERS_LOCK])
  const { rows } = await session.query<{ last: boolean }>('select pg_try_advisory_lock($1) as last', [USERS_LOCK])
  return rows[0]?.last === true
}

async function createDatabase(session: pg.Client): Promise<void> {
  const { rows } = await session.query('select from pg_database where datname = $1', [DATABASE])
  if (rows.length > 0) return
  await session.query(`create database ${DATABASE}`).catch((error) => {
    // Two processes may have looked at the same time.
    if (error.code !== '42P04' && error.code !== '23505') throw error
  })
}

function sessionOn(connectionString: string): pg.Client {
  const session = new pg.Client({ connectionString, application_name: 'tillbook embedded', keepAlive: true })
  // When the server goes down, the query in hand fails or the pools notice; an idle session has nothing to add.
  session.on('error', () => {})
  return session
}

function urlOf(password: string, port: number, database: string): string {
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`
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

import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Cluster, prepareCluster, readPassword, SUPERUSER } from './cluster.ts'
import { findPostmaster, shutDown, startOrAdopt } from './postmaster.ts'
import { ensureServiceRole, SERVICE_ROLE, servicePasswordOf } from './service-role.ts'
import { isLast, type Share, supervise, takeShare, urlOf } from './supervision.ts'

const DATABASE = 'tillbook'
/** A server that is just going down refuses whoever wants to know whether it is in use. */
const STOP_ATTEMPTS = 5

/** A real PostgreSQL that belongs to this service. */
interface EmbeddedPostgres {
  /** For the service's role. The same for as long as it is used, also when the server had to be started again. */
  readonly url: string
  /** For the superuser, who owns what the service may only add to. */
  readonly ownerUrl: string
  /** Shuts the server down in an orderly way, unless another living process still uses it. */
  stop(): Promise<void>
}

interface Options {
  readonly dataDir: string
  readonly log?: (line: string) => void
  /** Hears that the server was lost, and why it does not come back yet. */
  readonly onTrouble?: (message: string, error: unknown) => void
  /** The server was lost and cannot be brought back. */
  readonly onGivenUp?: () => void
  readonly settings?: Record<string, string>
}

/**
 * Starts the Postgres of `dataDir`, or adopts the one that a killed process left running there or another one has just
 * started, and starts it again should it die. Creates cluster and database the first time.
 */
export async function startEmbedded(options: Options): Promise<EmbeddedPostgres> {
  const { dataDir, log = () => {}, onTrouble = () => {}, onGivenUp = () => {}, settings = {} } = options
  const cluster = await prepareCluster(dataDir, { sync: settings.fsync !== 'off' })
  const share = await startOrAdopt(cluster, { settings, log })
  try {
    await createDatabase(share)
    await ensureServiceRole(share.session, SERVICE_ROLE, servicePasswordOf(cluster.password))
  } catch (error) {
    await leave(share, cluster, log)
    throw error
  }
  const supervision = supervise(share, {
    again: (signal) => startOrAdopt(cluster, { settings, log, port: share.port, signal }),
    onTrouble,
    onGivenUp,
  })
  let stopping: Promise<void> | undefined
  return {
    url: urlOf({ ...share, role: SERVICE_ROLE, password: servicePasswordOf(cluster.password), database: DATABASE }),
    ownerUrl: urlOf({ ...share, role: SUPERUSER, password: cluster.password, database: DATABASE }),
    stop() {
      stopping ??= supervision.stop().then((last) => leave(last, cluster, log))
      return stopping
    },
  }
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
  return stopUnlessUsed(await takeShare(await readPassword(home, { create: false }), server), directory)
}

async function stopUnlessUsed(share: Share, directory: string): Promise<boolean> {
  try {
    if (!(await isLast(share))) return false
    await shutDown(directory)
    return true
  } finally {
    await share.session.end().catch(() => {})
  }
}

/** A share that was lost says nothing about others, who may use the server again: then it has to be asked. */
async function leave(share: Share | null, { dataDir, directory }: Cluster, log: (line: string) => void): Promise<void> {
  const stop = share ? () => stopUnlessUsed(share, directory) : () => stopLeftOver(dataDir)
  const stopped = await stop().catch(() => insist(() => stopLeftOver(dataDir)))
  log(stopped ? 'embedded Postgres stopped' : 'embedded Postgres goes on for another process that uses it')
}

async function insist<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === STOP_ATTEMPTS) throw error
    }
    await pause(attempt * 100)
  }
}

async function createDatabase({ session }: Share): Promise<void> {
  const { rows } = await session.query('select from pg_database where datname = $1', [DATABASE])
  if (rows.length > 0) return
  await session.query(`create database ${DATABASE}`).catch((error) => {
    // Two processes may have looked at the same time.
    if (error.code !== '42P04' && error.code !== '23505') throw error
  })
}

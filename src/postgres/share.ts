import pg from 'pg'
import { SUPERUSER } from './cluster.ts'

/** Advisory lock, shared by all processes that use the server: it goes down with the last of them. */
const USERS_LOCK = 8_314_159_265
const CONNECT_TIMEOUT_MS = 10_000

/** A process's share in a running server: one connection, held for as long as the server is used. */
export interface Share {
  readonly session: pg.Client
  readonly pid: number
  readonly port: number
  /** Resolves when the connection has ended, on purpose or because the server is gone. */
  readonly lost: Promise<void>
}

/** Takes a share. A killed process lets go of it without having to do anything. */
export async function enter(password: string, { pid, port }: { pid: number; port: number }): Promise<Share> {
  const session = new pg.Client({
    connectionString: urlOf(password, port, 'postgres'),
    application_name: 'tillbook embedded',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  })
  // When the server goes down, the query in hand fails and `lost` tells; there is nothing to add.
  session.on('error', () => {})
  const lost = new Promise<void>((resolve) => session.once('end', resolve))
  try {
    await session.connect()
    await session.query('select pg_advisory_lock_shared($1)', [USERS_LOCK])
    return { session, pid, port, lost }
  } catch (error) {
    await session.end().catch(() => {})
    throw error
  }
}

/** Gives up the share. If nobody else has one, the lock is held alone from then on: nobody comes in any more. */
export async function isLast({ session }: Share): Promise<boolean> {
  await session.query('select pg_advisory_unlock_shared($1)', [USERS_LOCK])
  const { rows } = await session.query<{ last: boolean }>('select pg_try_advisory_lock($1) as last', [USERS_LOCK])
  return rows[0]?.last === true
}

/** Where a database of the embedded server is reached. */
export function urlOf(password: string, port: number, database: string): string {
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`
}

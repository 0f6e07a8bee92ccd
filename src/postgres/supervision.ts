import pg from 'pg'
import { retry } from '#lib/retry.ts'
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
export async function takeShare(password: string, { pid, port }: { pid: number; port: number }): Promise<Share> {
  const session = new pg.Client({
    connectionString: urlOf({ role: SUPERUSER, password, port, database: 'postgres' }),
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

interface Place {
  readonly role: string
  readonly password: string
  readonly port: number
  readonly database: string
}

/** Where a database of the embedded server is reached, by whom. */
export function urlOf({ role, password, port, database }: Place): string {
  return `postgres://${role}:${password}@127.0.0.1:${port}/${database}`
}

/** A server that ran for so long was well: when it is lost, it is started again at once and with all attempts. */
const STEADY_MS = 5_000
/** With the patience that grows to 15 seconds, about ten minutes. */
const ATTEMPTS = 40

interface SupervisionOptions {
  /** Starts the server again, or adopts the one that another process has started meanwhile. */
  readonly again: (signal: AbortSignal) => Promise<Share>
  readonly onTrouble: (message: string, error: unknown) => void
  /** It could not be brought back. */
  readonly onGivenUp: () => void
  readonly attempts?: number
  readonly steady_ms?: number
}

/** Watches over a share in a server. */
interface Supervision {
  /** Starts nothing any more. The share, if there is one, is the caller's to give up. */
  stop(): Promise<Share | null>
}

/**
 * Brings the server back whenever the share is lost, with growing patience, also when it comes up and is soon lost again.
 * Every process that uses the server does so: one of them starts it, the others adopt it.
 */
export function supervise(first: Share, options: SupervisionOptions): Supervision {
  const { again, onTrouble, onGivenUp, attempts = ATTEMPTS, steady_ms = STEADY_MS } = options
  const stopping = new AbortController()
  const { signal } = stopping
  let share: Share | null = first
  let attempt = 0

  async function watch(onProgress: () => void): Promise<'done' | 'again'> {
    if (!share) {
      if (attempt === attempts) return giveUp()
      attempt += 1
      share = await again(signal)
    }
    const since = performance.now()
    if (!(await isLost(share, signal))) return 'done'
    share = null
    if (performance.now() - since >= steady_ms) {
      attempt = 0
      onProgress()
    }
    onTrouble('the embedded Postgres was lost, and is started again', new Error('its connection has ended'))
    return 'again'
  }

  function giveUp(): 'done' {
    onTrouble('the embedded Postgres is given up', new Error(`${attempt} attempts to start it again were in vain`))
    onGivenUp()
    return 'done'
  }

  const watching = retry(signal, watch, (error) => onTrouble('the embedded Postgres could not be started again', error))
  return {
    async stop() {
      stopping.abort()
      await watching
      return share
    },
  }
}

/** False when the signal came first. */
async function isLost({ lost }: Share, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false
  const aborted = new Promise<false>((resolve) =>
    signal.addEventListener('abort', () => resolve(false), { once: true }),
  )
  return Promise.race([lost.then(() => true), aborted])
}

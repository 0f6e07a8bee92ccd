import type { ClientBase, Pool, PoolClient } from 'pg'
import { inTransactionOn } from './transaction.ts'

const LOCK_NOT_AVAILABLE = '55P03'

interface AdvisoryLock<T> {
  /** Name of the lock; one session of the database holds it at a time. */
  readonly key: string
  /** Longest wait for another session that holds the lock; by default none. */
  readonly wait_ms?: number
  /** Called if another session keeps the lock. */
  readonly ifTaken?: () => T
}

/** Runs `work` while its connection holds the lock. The lock ends with the connection, in whatever way that ends. */
export async function withAdvisoryLock<T>(
  pool: Pool,
  { key, wait_ms = 0, ifTaken }: AdvisoryLock<T>,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  try {
    const has = wait_ms === 0 ? await tryAdvisoryLock(client, key) : await acquire(client, key, wait_ms)
    if (has) return await work(client)
  } finally {
    // Explicitly: a closed connection releases the lock only a moment later.
    await client.query('rollback; select pg_advisory_unlock_all()').catch(() => {})
    client.release(true)
  }
  if (!ifTaken) throw new Error(`another session has the lock "${key}"`)
  return ifTaken()
}

/** Takes the lock for the rest of the session; false if another session holds it. */
export async function tryAdvisoryLock(
  client: ClientBase,
  key: string,
  mode: 'exclusive' | 'shared' = 'exclusive',
): Promise<boolean> {
  const lock = mode === 'shared' ? 'pg_try_advisory_lock_shared' : 'pg_try_advisory_lock'
  const { rows } = await client.query<{ has: boolean }>(`select ${lock}(hashtextextended($1, 0)) as has`, [key])
  return rows[0]?.has === true
}

/** The time-outs belong to the transaction, the lock to the session. */
async function acquire(client: ClientBase, key: string, wait_ms: number): Promise<boolean> {
  const timeout_ms = Number.isFinite(wait_ms) ? wait_ms : 0
  try {
    await inTransactionOn(
      client,
      () => client.query('select pg_advisory_lock(hashtextextended($1, 0))', [key]),
      `begin; set local lock_timeout = ${timeout_ms}; set local statement_timeout = 0`,
    )
    return true
  } catch (error) {
    if ((error as { code?: unknown }).code !== LOCK_NOT_AVAILABLE) throw error
    return false
  }
}

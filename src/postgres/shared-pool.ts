import type { Pool, PoolClient } from 'pg'
import { TenantLimitExceeded } from '#lib/errors.ts'
import type { KeyedSemaphore } from '#lib/keyed-semaphore.ts'

/** The pool as one company may use it. */
export type PoolOf = (companyId: number) => Pool

/**
 * Lends a pool's connections in turns: a company that wants more of them than it may have waits for its own.
 * What is lent has `query` and `connect` only. @throws TenantLimitExceeded where `turns` gives none.
 */
export function sharePool(pool: Pool, turns: KeyedSemaphore): PoolOf {
  async function connect(companyId: number): Promise<PoolClient> {
    const leave = await turns.acquire(companyId)
    if (!leave) throw new TenantLimitExceeded('too many wait for a connection')
    try {
      const client = await pool.connect()
      // The driver makes it anew for each who has the connection.
      const { release } = client
      client.release = (broken) => {
        leave()
        release.call(client, broken)
      }
      return client
    } catch (error) {
      leave()
      throw error
    }
  }

  type Query = (...statement: unknown[]) => Promise<unknown>
  const query = pool.query.bind(pool) as Query
  return (companyId) => {
    const lent = {
      connect: () => connect(companyId),
      query: (...statement: unknown[]) => turns.run(companyId, () => query(...statement)),
    }
    return lent as unknown as Pool
  }
}

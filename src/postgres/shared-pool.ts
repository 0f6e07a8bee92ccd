import type { Pool, PoolClient } from 'pg'
import { TenantLimitExceeded } from '#lib/errors.ts'
import type { KeyedSemaphore } from '#lib/keyed-semaphore.ts'

/** The pool, limited to one company's share. */
export type PoolOf = (companyId: number) => Pool

/**
 * Shares a pool's connections between companies: beyond its share, a company waits for its own connections. The
 * returned pool has `query` and `connect` only. @throws TenantLimitExceeded if `turns` grants no slot.
 */
export function sharePool(pool: Pool, turns: KeyedSemaphore): PoolOf {
  async function connect(companyId: number): Promise<PoolClient> {
    const leave = await turns.acquire(companyId)
    if (!leave) throw new TenantLimitExceeded('too many wait for a connection')
    try {
      const client = await pool.connect()
      // The driver creates a new function for each checkout.
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

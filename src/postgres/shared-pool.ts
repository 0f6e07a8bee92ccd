import type { Pool, PoolClient } from 'pg'
import { TenantLimitExceeded } from '#lib/errors.ts'
import type { KeyedSemaphore } from '#lib/keyed-semaphore.ts'
import type { Database } from './database.ts'

/** The pool, limited to one company's share. */
export type PoolOf = (companyId: number) => Database

/**
 * Shares a pool's connections between companies: beyond its share, a company waits for its own connections.
 * @throws TenantLimitExceeded if `turns` grants no slot.
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

  return (companyId) => ({
    connect: () => connect(companyId),
    query: (statement, values) => turns.run(companyId, () => pool.query(statement, values)),
  })
}

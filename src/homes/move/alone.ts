import { setTimeout as delay } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import { MoveRefused } from './move-refused.ts'
import type { Move } from './moving-home.ts'

/** Advisory lock of a company's migration, taken on both shards; it ends with the connection. */
export const LOCK = `hashtextextended('tillbook move ' || $1::text, 0)`

/**
 * Runs one migration of a company at a time. The callback given to `work` throws once the lock is lost: another process
 * may have opened the company again.
 */
export async function alone<T>(
  { companyId, from, to }: Pick<Move, 'companyId' | 'from' | 'to'>,
  work: (assertAlone: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const holders: PoolClient[] = []
  try {
    for (const { owner } of [from, to].sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const client = await owner.connect()
      holders.push(client)
      client.on('error', () => {})
      await lock(client, companyId)
    }
    return await work(async () => {
      for (const holder of holders) await holder.query('select')
    })
  } finally {
    for (const holder of holders) {
      await holder.query('select pg_advisory_unlock_all()').catch(() => {})
      holder.release(true)
    }
  }
}

/** The monitor of interrupted migrations holds the lock briefly, and so does a command that was just killed. */
const TRIES = 20
const TRIED_EVERY_MS = 100

/** @throws MigrationRefused */
async function lock(client: PoolClient, companyId: number): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const { rows } = await client.query<{ got: boolean }>(`select pg_try_advisory_lock(${LOCK}) as got`, [companyId])
    if (rows[0]?.got) return
    if (tries === TRIES) throw new MoveRefused('busy', `company ${companyId} is being migrated by another command`)
    await delay(TRIED_EVERY_MS)
  }
}

import { setTimeout as delay } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import { MoveRefused } from './move-refused.ts'
import type { Move } from './moving-home.ts'

/** Of a company's move, in both homes; it goes with the connection of the process that moves it. */
export const LOCK = `hashtextextended('tillbook move ' || $1::text, 0)`

/**
 * One move of a company at a time; a process that dies has its lock no more. What `work` is given throws where the lock was lost:
 * whoever has it then may have opened the company again.
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

/** Whoever looks after moves that were interrupted has it for a moment, and so has a command that was just killed. */
const TRIES = 20
const TRIED_EVERY_MS = 100

/** @throws MoveRefused */
async function lock(client: PoolClient, companyId: number): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const { rows } = await client.query<{ got: boolean }>(`select pg_try_advisory_lock(${LOCK}) as got`, [companyId])
    if (rows[0]?.got) return
    if (tries === TRIES) throw new MoveRefused('busy', `company ${companyId} is being moved by another command`)
    await delay(TRIED_EVERY_MS)
  }
}

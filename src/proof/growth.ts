import type { Pool } from 'pg'
import type { EventStore } from '#ledger/port.ts'
import { type Repetition, repeat } from '#lib/repeat.ts'
import { growTree, ledgerLog } from './trees.ts'

const EVERY_MS = 60_000

/** What trees are grown with. */
export interface Growing {
  readonly pool: Pool
  readonly store: EventStore
}

/** Grows the trees of ledgers that have moved, so that nobody who asks for a proof waits for more than a minute's events. */
export async function growTrees({ pool, store }: Growing, isStopped: () => boolean): Promise<void> {
  const { rows } = await pool.query<{ company_id: number }>(
    `select company_id from ops.ledgers left join ops.trees on log = company_id
     where move is null and revision + 1 > coalesce(size, 0) order by company_id`,
  )
  for (const { company_id } of rows) {
    if (isStopped()) return
    await growTree(pool, ledgerLog(store, company_id), isStopped)
  }
}

/** Every minute, beginning now. */
export function growTreesOnSchedule(growing: Growing, onError: (error: unknown) => void): Pick<Repetition, 'stop'> {
  let stopped = false
  const repetition = repeat(() => growTrees(growing, () => stopped), EVERY_MS, onError)
  return {
    stop() {
      stopped = true
      return repetition.stop()
    },
  }
}

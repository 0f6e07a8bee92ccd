import type { Pool } from 'pg'
import { type Repetition, repeat } from '#background/repeat.ts'
import { type InTurnOptions, workInTurn } from '#background/round-robin.ts'
import type { EventStore } from '#ledger/port.ts'
import { growTree, ledgerLog } from './trees.ts'

const EVERY_MS = 60_000
/** Dependencies of the growth of trees. */
export interface TreeGrowthOptions {
  readonly pool: Pool
  readonly store: EventStore
}

interface Behind {
  readonly company_id: number
  /** Number of events in the ledger. */
  readonly events: number
}

/** Grows the trees of ledgers with new events, so that a proof waits for at most a minute's events. */
export async function growTrees({ pool, store }: TreeGrowthOptions, options: InTurnOptions): Promise<void> {
  const { rows } = await pool.query<Behind>(
    `select company_id, revision + 1 as events from ops.ledgers left join ops.trees on log = company_id
     where revision + 1 > coalesce(size, 0) order by company_id`,
  )
  const eventsOf = new Map(rows.map(({ company_id, events }) => [company_id, events]))
  const sizeOf = new Map<number, number>()
  const slice = async (companyId: number): Promise<'more' | 'done'> => {
    // One batch of events.
    const { size } = await growTree(pool, ledgerLog(store, companyId), () => true)
    // A tree that does not grow has reached a missing revision.
    const hasGrown = size > (sizeOf.get(companyId) ?? -1)
    sizeOf.set(companyId, size)
    return hasGrown && size < (eventsOf.get(companyId) as number) ? 'more' : 'done'
  }
  await workInTurn(eventsOf.keys(), slice, options)
}

/** Runs at once and then every minute. */
export const growTreesOnSchedule = (growing: TreeGrowthOptions, onError: (error: unknown) => void): Repetition =>
  repeat((stopping) => growTrees(growing, { stopping, onError }), EVERY_MS, onError)

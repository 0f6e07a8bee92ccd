import type { Pool } from 'pg'
import { Unavailable } from '#lib/unavailable.ts'
import { advance, clock, lock, lockIfFree, open } from '../ledgers.ts'
import { inTransaction, pipelined } from '../transaction.ts'
import { createWorkingSet } from '../working-set.ts'
import { type AttemptOptions, reportCommit } from '../write/attempt.ts'
import { catchUp } from '../write/catch-up.ts'

/** Events of one transaction, so that neither memory nor the time for which a ledger is locked grows with what is behind. */
const EVENTS_PER_TRANSACTION = 500

export type CatchUpOptions = AttemptOptions & { readonly pool: Pool }

/**
 * Applies all that the store holds of a company beyond its ledger's revision, as the writer that crashed would have done.
 * Unless it waits, a ledger that is locked is left to its holder, who will see what is there. Returns whether the end was reached.
 */
export async function catchUpCompany(
  options: CatchUpOptions,
  companyId: number,
  { waits }: { readonly waits: boolean },
): Promise<boolean> {
  for (;;) {
    const applied = await catchUpSome(options, companyId, waits)
    if (applied === null) return false
    if (applied < EVENTS_PER_TRANSACTION) return true
  }
}

/** Null when the ledger is somebody else's. */
async function catchUpSome(options: CatchUpOptions, companyId: number, waits: boolean): Promise<number | null> {
  const done = await inTransaction(options.pool, async (tx, client) => {
    const row = (await (waits ? lock : lockIfFree)(tx, [companyId])).get(companyId)
    if (!row) return null
    const time = await clock(tx)
    if (time.version !== options.model.version) {
      options.onOutdated()
      throw new Unavailable('the read model has another version')
    }
    const ledger = open(row, time.now)
    const set = createWorkingSet()
    const applied = await catchUp(ledger, { ...options, tx, set }, EVENTS_PER_TRANSACTION)
    if (applied.size > 0) await pipelined(client, () => [...set.flush(tx), advance(tx, [ledger])])
    return { applied: applied.size, ledger }
  })
  if (!done) return null
  reportCommit(options, [done.ledger])
  return done.applied
}

import type { Refusal } from '#domain/refusal.ts'
import type { Database } from '#postgres/database.ts'
import { inTransaction, type Transaction } from '#postgres/transaction.ts'
import { lockLedger, openLedger, readLedgerClock } from '../ledgers.ts'
import { createWorkingSet } from '../working-set.ts'
import { type Answer, createAnswer } from './answer.ts'
import { answerRefs, findReplay, storeAnswer } from './idempotency.ts'
import { guardRefusal, type Request } from './unit-of-work.ts'

/** Context of an operation: statements under the lock of the company's ledger, at an instant (UTC). */
export interface OperationContext {
  readonly tx: Transaction
  readonly companyId: number
  readonly now: string
}

/** JSON text of the answer, or a refusal. A refusal must come before the first change. */
export type Operation = (operating: OperationContext) => Promise<string | Refusal>

/** Thrown to roll back the transaction; nothing was changed. */
class Refused extends Error {
  constructor(readonly refusal: Refusal) {
    super(refusal.refused)
  }
}

/**
 * Changes rows of `ops` without an event, such as the deliveries of an endpoint. It is serialized with the company's
 * commands and follows the same rule for an Idempotency-Key: a retry of the same request gets the same answer, and the
 * operation runs once.
 */
export async function operate(
  pool: Database,
  { companyId, actor, idempotency, guard }: Pick<Request, 'companyId' | 'actor' | 'idempotency' | 'guard'>,
  operation: Operation,
): Promise<Answer | Refusal> {
  try {
    return await inTransaction(pool, async (tx) => {
      const row = (await lockLedger(tx, [companyId])).get(companyId)
      if (!row) throw new Error(`company ${companyId} has no ledger`)
      const { now } = await readLedgerClock(tx)
      // No event is recorded, so the operation uses the clock even if the ledger is ahead of it.
      const ledger = { ...openLedger(row, now), lastRecordedAt: now }
      if (ledger.closed) throw ledger.closed
      const set = createWorkingSet()
      set.queue(companyId, [...answerRefs({ actor, idempotency }), ...(guard?.needs ?? [])])
      await Promise.all(set.load(tx))
      const rows = set.of(companyId)
      const refused = guardRefusal(guard, rows, ledger.now)
      if (refused) return refused
      const replay = findReplay(rows, { actor, idempotency }, ledger)
      if (replay) return replay
      const json = await operation({ tx, companyId, now })
      if (typeof json !== 'string') throw new Refused(json)
      const answer = createAnswer({ outcome: 'updated', json }, ledger)
      if (idempotency) {
        storeAnswer(rows, { actor, idempotency }, answer, ledger)
        await Promise.all(set.flush(tx))
      }
      return answer
    })
  } catch (error) {
    if (error instanceof Refused) return error.refusal
    throw error
  }
}

import type { Pool } from 'pg'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { inTransaction, type Transaction } from '#postgres/transaction.ts'
import { lockLedger, openLedger, readLedgerClock } from '../ledgers.ts'
import { createWorkingSet } from '../working-set.ts'
import { answerRefs, findReplay, storeAnswer } from './idempotency.ts'
import type { Answer, Request } from './unit-of-work.ts'

/** What an operation works with: statements under the lock of the company's ledger, at a moment (UTC). */
export interface OperationContext {
  readonly tx: Transaction
  readonly companyId: number
  readonly now: string
}

/** JSON text of the answer, or why nothing was done; a refusal must come before the first change. */
export type Operation = (operating: OperationContext) => Promise<string | Refusal>

/** Thrown to undo the transaction; nothing was changed. */
class Refused extends Error {
  constructor(readonly refusal: Refusal) {
    super(refusal.refused)
  }
}

/**
 * Changes rows of `ops` that no event tells of, as the deliveries of an address. It takes its turn with the company's
 * commands, and follows the same rule for an Idempotency-Key: same key and request, same answer, done once.
 */
export async function operate(
  pool: Pool,
  { companyId, idempotency, guard }: Pick<Request, 'companyId' | 'idempotency' | 'guard'>,
  operation: Operation,
): Promise<Answer | Refusal> {
  try {
    return await inTransaction(pool, async (tx) => {
      const row = (await lockLedger(tx, [companyId])).get(companyId)
      if (!row) throw new Error(`company ${companyId} has no ledger`)
      const { now } = await readLedgerClock(tx)
      // No event is recorded: what is done is done by the clock, whatever time the ledger has come to.
      const ledger = { ...openLedger(row, now), lastRecordedAt: now }
      if (ledger.closed) throw ledger.closed
      const set = createWorkingSet()
      set.want(companyId, [...answerRefs(idempotency), ...(guard?.needs ?? [])])
      await Promise.all(set.load(tx))
      const rows = set.of(companyId)
      if (guard?.holds(rows, ledger.now) === false) return refuse('invalid_token')
      const replay = findReplay(rows, idempotency, ledger)
      if (replay) return replay
      const body = await operation({ tx, companyId, now })
      if (typeof body !== 'string') throw new Refused(body)
      if (idempotency) {
        storeAnswer(rows, idempotency, { status: 200, body }, ledger)
        await Promise.all(set.flush(tx))
      }
      return { status: 200, body, replayed: false, revision: ledger.revision }
    })
  } catch (error) {
    if (error instanceof Refused) return error.refusal
    throw error
  }
}

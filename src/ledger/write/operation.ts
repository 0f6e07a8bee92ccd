import type { Pool } from 'pg'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { answerByKey, idempotentAnswers, isAnswerTo, isFresh } from '../answers.ts'
import { clock, lock, open } from '../ledgers.ts'
import { inTransaction, type Transaction } from '../transaction.ts'
import { createWorkingSet } from '../working-set.ts'
import type { Answer, Request } from './unit-of-work.ts'

/** What an operation works with: statements under the lock of the company's ledger, at a moment (UTC). */
export interface Operating {
  readonly tx: Transaction
  readonly companyId: number
  readonly now: string
}

/** JSON text of the answer, or why nothing was done; a refusal must come before the first change. */
export type Operation = (operating: Operating) => Promise<string | Refusal>

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
  { companyId, idempotency }: Pick<Request, 'companyId' | 'idempotency'>,
  operation: Operation,
): Promise<Answer | Refusal> {
  try {
    return await inTransaction(pool, async (tx) => {
      const ledger = (await lock(tx, [companyId])).get(companyId)
      if (!ledger) throw new Error(`company ${companyId} has no ledger`)
      const { lastRecordedAt: now, revision } = open(ledger, (await clock(tx)).now)
      const set = createWorkingSet()
      if (idempotency) set.want(companyId, [answerByKey(idempotency.key)])
      await Promise.all(set.load(tx))
      const rows = set.of(companyId)
      const stored = idempotency ? rows.get(answerByKey(idempotency.key)) : null
      if (idempotency && stored && isFresh(stored, now)) {
        if (!isAnswerTo(stored, idempotency)) throw new Refused(refuse('idempotency_key_reuse'))
        return { status: stored.status, body: stored.body, replayed: true, revision }
      }
      const body = await operation({ tx, companyId, now })
      if (typeof body !== 'string') throw new Refused(body)
      if (idempotency) {
        const { key, requestHash: request_hash } = idempotency
        rows.put(idempotentAnswers, { company_id: companyId, key, request_hash, status: 200, body, created_at: now })
        await Promise.all(set.flush(tx))
      }
      return { status: 200, body, replayed: false, revision }
    })
  } catch (error) {
    if (error instanceof Refused) return error.refusal
    throw error
  }
}

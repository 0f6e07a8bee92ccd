import type { Pool } from 'pg'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { ANSWER_RETENTION_MS, isAnswerTo, type StoredAnswer } from '../answers.ts'
import type { Answer, Request } from './unit-of-work.ts'

/**
 * The stored answer of a request, or the refusal of its key, looked up before anything is done; null when nothing is known of
 * the key. For requests of more than one unit of work: the last of them stores the answer, and decides between equal ones.
 */
export async function findAnswer(
  pool: Pool,
  { companyId, idempotency }: Pick<Request, 'companyId' | 'idempotency'>,
): Promise<Answer | Refusal | null> {
  if (!idempotency) return null
  const { rows } = await pool.query<Pick<StoredAnswer, 'status' | 'body' | 'request_hash'> & { revision: number }>({
    name: 'find_answer',
    text: `select a.status, a.body, a.request_hash, l.revision
           from idempotent_answers a join ledgers l on l.company_id = a.company_id
           where a.company_id = $1 and a.key = $2 and a.created_at > now() - $3 * interval '1 millisecond'`,
    values: [companyId, idempotency.key, ANSWER_RETENTION_MS],
  })
  const [found] = rows
  if (!found) return null
  if (!isAnswerTo(found, idempotency)) return refuse('idempotency_key_reuse')
  const { status, body, revision } = found
  return { status, body, revision, replayed: true }
}

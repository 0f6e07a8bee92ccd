import type { Pool } from 'pg'
import { type Refusal, refuse } from '../domain/refusal.ts'
import { byPk, table } from './table.ts'
import type { Answer, Request } from './unit-of-work.ts'

/** A stored answer of a request that carried an Idempotency-Key (spec, rule 4 of the endpoints). Kept 24 hours. */
export interface StoredAnswer {
  company_id: number
  key: string
  request_hash: string
  status: number
  body: string
  created_at: string
}

/** Stored answers are rows like any other, so that 20 equal keys within one group are one sale. */
export const idempotentAnswers = table<StoredAnswer>('idempotent_answers', {
  columns: {
    company_id: 'bigint',
    key: 'text',
    request_hash: 'text',
    status: 'integer',
    body: 'text',
    created_at: 'timestamptz',
  },
  keys: { pk: ['company_id', 'key'] },
})

export const answerByKey = (key: string) => byPk(idempotentAnswers, key)

/** Retention of stored answers (spec, Limits). */
export const ANSWER_RETENTION_MS = 24 * 3600 * 1000

/** An answer past its retention is as good as absent, even before the purge removes it. */
export const isFresh = (answer: StoredAnswer, now: string): boolean =>
  Date.parse(now) - Date.parse(answer.created_at) < ANSWER_RETENTION_MS

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
  if (found.request_hash !== idempotency.requestHash) return refuse('idempotency_key_reuse')
  const { status, body, revision } = found
  return { status, body, revision, replayed: true }
}

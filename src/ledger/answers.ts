import { byPk, table } from './table.ts'

/** A stored answer of a request that carried an Idempotency-Key (IDEM-2). Kept 24 hours. */
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

/** Retention of stored answers (IDEM-4). */
export const ANSWER_RETENTION_MS = 24 * 3600 * 1000

/** An answer past its retention is as good as absent, even before the purge removes it. */
export const isFresh = (answer: StoredAnswer, now: string): boolean =>
  Date.parse(now) - Date.parse(answer.created_at) < ANSWER_RETENTION_MS

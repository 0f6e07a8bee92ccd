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

/** How a request that carries an Idempotency-Key is known again. */
export interface Idempotency {
  readonly key: string
  readonly requestHash: string
  /** What version 0.1 stored of the same request: its answers are good for as long as they are kept. */
  readonly formerHash?: string
}

/** Whether a stored answer was given to this request (IDEM-2), or to another one under its key (IDEM-3). */
export const isAnswerTo = (
  { request_hash }: Pick<StoredAnswer, 'request_hash'>,
  { requestHash, formerHash }: Idempotency,
): boolean => request_hash === requestHash || request_hash === formerHash

/** Retention of stored answers (IDEM-4). */
export const ANSWER_RETENTION_MS = 24 * 3600 * 1000

/** An answer past its retention is as good as absent, even before the purge removes it. */
export const isFresh = (answer: StoredAnswer, now: string): boolean =>
  Date.parse(now) - Date.parse(answer.created_at) < ANSWER_RETENTION_MS

import type { Pool } from 'pg'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { isNotMigrating } from '#postgres/migration-condition.ts'
import { deleteInBatches } from '#postgres/purge.ts'
import type { Transaction } from '#postgres/transaction.ts'
import { ANSWER_RETENTION_MS } from '../command.ts'
import type { OpenLedger } from '../ledgers.ts'
import { byPk, table } from '../table.ts'
import { containsNeedle, eraseTexts, type TextErasure } from '../text-erasure.ts'
import type { Changes, Rows } from '../working-set.ts'

/** What a caller sends so that a request which is sent again is done once. */
export interface Idempotency {
  readonly key: string
  /** Tells another request under the same key from the same one. */
  readonly requestHash: string
}

/** A key that the service makes up itself: no caller can write its first character, so that none can take it before (IDEM-1). */
export const ownKey = (name: string): string => `§${name}`

/** A stored answer of a request that carried an Idempotency-Key (IDEM-2). */
interface StoredAnswer {
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

/** An answer as it was given before; `revision` is that of the ledger now. */
interface Replay {
  readonly status: number
  readonly body: string
  readonly replayed: true
  readonly revision: number
}

/** The row to load before `findReplay`. */
export const answerRefs = (idempotency: Idempotency | undefined) =>
  idempotency ? [byPk(idempotentAnswers, idempotency.key)] : []

/** What a locked ledger holds under a request's key: its answer, or the refusal of the key; null when there is something to do. */
export function findReplay(
  rows: Rows,
  idempotency: Idempotency | undefined,
  { revision, now }: Pick<OpenLedger, 'revision' | 'now'>,
): Replay | Refusal | null {
  const [ref] = answerRefs(idempotency)
  const stored = ref ? rows.get(ref) : null
  return stored && idempotency ? replayOf({ ...stored, revision, now }, idempotency) : null
}

/**
 * The same, before anything is locked. For requests of more than one unit of work: the last of them stores the answer, and
 * decides between equal ones. What is found is locked for the moment, so that the statement is a write: it waits for the standby
 * as the COMMIT did that stored the answer, and may have been cut short at it (OPS-110).
 */
export async function lookUpReplay(
  pool: Pool,
  companyId: number,
  idempotency: Idempotency | undefined,
): Promise<Replay | Refusal | null> {
  if (!idempotency) return null
  const { rows } = await pool.query<Found>({
    name: 'find_answer',
    text: `select a.status, a.body, a.request_hash, a.created_at, l.revision, now() as now
           from idempotent_answers a join ledgers l on l.company_id = a.company_id
           where a.company_id = $1 and a.key = $2 for share of a`,
    values: [companyId, idempotency.key],
  })
  return rows[0] ? replayOf(rows[0], idempotency) : null
}

interface Found extends Omit<StoredAnswer, 'company_id' | 'key'> {
  readonly revision: number
  /** UTC. */
  readonly now: string
}

/** An answer past its retention is as good as absent, even before the purge removes it. */
function replayOf(found: Found, { requestHash }: Idempotency): Replay | Refusal | null {
  const { status, body, revision } = found
  if (Date.parse(found.now) - Date.parse(found.created_at) >= ANSWER_RETENTION_MS) return null
  return found.request_hash === requestHash
    ? { status, body, replayed: true, revision }
    : refuse('idempotency_key_reuse')
}

export function storeAnswer(
  rows: Changes,
  { key, requestHash }: Idempotency,
  { status, body }: { readonly status: number; readonly body: string },
  { companyId, lastRecordedAt }: Pick<OpenLedger, 'companyId' | 'lastRecordedAt'>,
): void {
  rows.put(idempotentAnswers, {
    company_id: companyId,
    key,
    request_hash: requestHash,
    status,
    body,
    created_at: lastRecordedAt,
  })
}

/** Deletes stored answers past their retention. Returns how many. */
export function purgeAnswers(pool: Pool): Promise<number> {
  return deleteInBatches(
    pool,
    `delete from idempotent_answers where (company_id, key) in (
       select company_id, key from idempotent_answers
       where created_at < now() - make_interval(secs => $1) and ${isNotMigrating('company_id')} limit $2 for update skip locked)`,
    [ANSWER_RETENTION_MS / 1000],
  )
}

/**
 * Takes forgotten persons out of a company's stored answers: a repetition is answered with the same status, and with their
 * fields null (PRIV-32). Looks at all that the company has stored in 24 hours.
 */
export async function eraseAnswers(tx: Transaction, companyId: number, redaction: TextErasure): Promise<void> {
  await eraseTexts(tx, companyId, { find: FIND_ANSWERS, write: WRITE_ANSWERS, first: '' }, redaction)
}

const FIND_ANSWERS = {
  name: 'find_answers_about',
  text: `select key, body as text from idempotent_answers
         where company_id = $1 and key > $3 and ${containsNeedle('body')} order by key limit $4`,
}

const WRITE_ANSWERS = {
  name: 'write_answers',
  text: `update idempotent_answers a set body = new.text
         from unnest($2::text[], $3::text[]) as new(key, text) where a.company_id = $1 and a.key = new.key`,
}

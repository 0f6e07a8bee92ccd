import { RECORD_KINDS } from '#domain/record-values.ts'
import { type Refusal, refuse } from '#domain/refusals.ts'
import type { Database } from '#postgres/database.ts'
import type { Statement, Transaction } from '#postgres/transaction.ts'
import { type Accepted, ANSWER_RETENTION_MS, type Envelope, type OutcomeKind } from '../command.ts'
import type { OpenLedger } from '../ledgers.ts'
import { byPk, table } from '../table.ts'
import type { Changes, Rows } from '../working-set.ts'

/**
 * First id, and first revision, of a dry run: beyond those of any ledger, so that they are recognised in the result.
 * Ids of stock movements are revisions times 1,000, and stay exact.
 */
const FIRST = 9_006_913_571_000
const MOST = 100_000
const PER_REVISION = 1_000

const isNew = (value: number): boolean =>
  (value >= FIRST && value < FIRST + MOST) || (value >= FIRST * PER_REVISION && value < (FIRST + MOST) * PER_REVISION)

/** Decides on the ledger from now on with ids and revisions that no record has. */
export function useProvisionalIds(ledger: OpenLedger): void {
  ledger.ids = Object.fromEntries(RECORD_KINDS.map((kind) => [kind, FIRST]))
  ledger.revision = FIRST
}

/** Id of the nth new record of a kind, from 1, if none before it is refused. */
export const provisionalId = (n: number): number => FIRST + n

/** UUID in place of a new one, which `withoutNewIds` removes too. */
export const PROVISIONAL_UUID = '00000000-0000-7000-8000-90069135710f'

/** A record named in a text, as `sale/981`, `order-5-…` or `/pagar/loja/5-…`. Digits alone may be a barcode or a document. */
const NAMED = new RegExp(`\\b(?:${RECORD_KINDS.join('|')}|pagar/[\\w.-]+)[/-](\\d{13,16})\\b`, 'g')

const namesNew = (text: string): boolean =>
  text === PROVISIONAL_UUID || [...text.matchAll(NAMED)].some(([, digits]) => isNew(Number(digits)))

/** The JSON value with null for each id that the dry run took, and for texts that name one, as `sale/981`. */
export function withoutNewIds(json: string): unknown {
  return JSON.parse(json, (_name, value: unknown) => {
    if (typeof value === 'number') return isNew(value) ? null : value
    return typeof value === 'string' && namesNew(value) ? null : value
  })
}

/** An event that would be recorded; personal fields are in clear. */
export type ProvisionalEvent = Pick<Envelope, 'type' | 'version' | 'subject' | 'data'>

/** What would be asked of another service, without credentials. */
export interface OutsideRequest {
  readonly method: 'POST' | 'PUT'
  readonly url: string
  readonly body: unknown
}

/** Result of a dry run beside its answer. */
export interface DryRun {
  readonly events: readonly Envelope[]
  readonly requests: readonly OutsideRequest[]
}

/** Result of the erasure of persons from one JSON text. */
export interface ErasedText {
  /** Whether the text has a record of these persons or names them, even if there is nothing left to erase. */
  readonly isAbout: boolean
  /** The text without their fields; null if it needs no change. */
  readonly text: string | null
}

/** Erasure of persons from JSON texts. */
export interface TextErasure {
  /** Every text about the persons contains one of these, so Postgres returns few other texts. */
  readonly needles: readonly string[]
  redact(text: string): ErasedText
}

interface Texts {
  /**
   * Parameters: company, `needles`, key to continue after, number of rows. Columns: `key`, in ascending order, and
   * `text`.
   */
  readonly find: Statement
  /** Parameters: company, keys, new texts. */
  readonly write: Statement
  /** A value before all keys. */
  readonly first: string
}

/**
 * Condition of `find`: whether a text column contains one of the needles, which have no special characters of LIKE or
 * regular expressions. For a few needles this takes half the time of a regular expression, which does not grow with
 * their number: 1 to 3 s for 100,000 texts of 2 kB.
 */
export const containsNeedle = (column: string): string =>
  `case when cardinality($2::text[]) <= 8
     then exists (select from unnest($2::text[]) as needle where strpos(${column}, needle) > 0)
     else ${column} ~ (select array_to_string($2::text[], '|')) end`

/** Rows in memory at a time. */
const PAGE = 200

/** Erases persons from JSON texts of a company. Returns the keys of all texts about them. */
export async function eraseTexts(
  tx: Transaction,
  companyId: number,
  { find, write, first }: Texts,
  { needles, redact }: TextErasure,
): Promise<string[]> {
  const about: string[] = []
  for (let after = first; ; ) {
    const { rows } = await tx.query<{ key: string; text: string }>(find, [companyId, needles, after, PAGE])
    const changed: [key: string, text: string][] = []
    for (const { key, text } of rows) {
      const redacted = redact(text)
      if (redacted.isAbout) about.push(key)
      if (redacted.text !== null) changed.push([key, redacted.text])
    }
    if (changed.length > 0)
      await tx.query(write, [companyId, changed.map(([key]) => key), changed.map(([, text]) => text)])
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return about
    after = last.key
  }
}

/** `json` is the record's JSON text; '' after a deletion, and in a request without records. */
export type CommandResult = (Pick<Accepted, 'outcome' | 'subject' | 'remarks'> & { readonly json: string }) | Refusal

/** Of a request of many commands: some (`partial`) or all (`failed`) were refused. The latter is never stored. */
export type AnswerOutcome = OutcomeKind | 'partial' | 'failed'

/** The part of an answer that is stored under an Idempotency-Key. */
export interface AnswerText {
  readonly outcome: AnswerOutcome
  /** JSON text of the record, or the text composed for many commands; '' if there is nothing to show. */
  readonly json: string
  /** JSON text of the command's remarks; absent or null without any. */
  readonly meta?: string | null
}

export interface Answer extends AnswerText {
  /** `json`, parsed when it is read: the API sends the text itself. Null if there is nothing to show. */
  readonly record: unknown
  /** Results of the commands, in order; empty if the answer is replayed. */
  readonly results: readonly CommandResult[]
  /** True if an earlier request with the same Idempotency-Key stored the answer. */
  readonly replayed: boolean
  /** Revision of the company's ledger when the answer was decided. */
  readonly revision: number
  /** Of a dry run that was not answered by a stored answer. */
  readonly dryRun?: DryRun
}

export const createAnswer = (
  { outcome, json, meta = null }: AnswerText,
  {
    revision,
    results = [],
    replayed = false,
  }: Pick<Answer, 'revision'> & Partial<Pick<Answer, 'results' | 'replayed'>>,
): Answer => ({
  outcome,
  json,
  meta,
  get record() {
    return json === '' ? null : JSON.parse(json)
  },
  results,
  replayed,
  revision,
})

/** `updated` precedes `unchanged`: what changes nothing has no event. */
const STATUSES: Readonly<Record<AnswerOutcome, number>> = {
  created: 201,
  updated: 200,
  unchanged: 200,
  deleted: 204,
  queued: 202,
  partial: 207,
  failed: 207,
}

/** HTTP status of an outcome: interfaces answer it, and events record it (IdempotencyRecord). */
export const toAnswerStatus = (outcome: AnswerOutcome): number => STATUSES[outcome]

/** Outcome of the request whose event records this status. */
export function toRecordedOutcome(status: number): AnswerOutcome {
  const outcomes = Object.keys(STATUSES) as AnswerOutcome[]
  return outcomes.find((outcome) => STATUSES[outcome] === status) ?? 'updated'
}

/** Idempotency-Key of a request and the hash that identifies its content. */
export interface Idempotency {
  readonly key: string
  /** Distinguishes a different request with the same key from a retry. */
  readonly requestHash: string
}

/** A key that the service generates. Callers cannot send its first character, so they cannot take the key. */
export const ownKey = (name: string): string => `§${name}`

/** A request with its caller: programs and persons have keys of their own. */
export interface KeyedRequest {
  readonly companyId: number
  /** As events name it, `api_key/7`; null for the service itself. */
  readonly actor: string | null
  readonly idempotency?: Idempotency | undefined
}

/** Key of the stored answer: no actor contains a blank. */
const storedKeyOf = (actor: string | null, key: string): string => `${actor ?? ''} ${key}`

/** Stored answer of a request with an Idempotency-Key (IDEM-2). */
interface StoredAnswer {
  company_id: number
  /** Actor and Idempotency-Key. */
  key: string
  request_hash: string
  outcome: AnswerOutcome
  body: string
  meta: string | null
  created_at: string
}

/** Stored answers are rows of the working set, so that 20 requests with one key in one group record a single sale. */
export const idempotentAnswers = table<StoredAnswer>('idempotent_answers', {
  columns: {
    company_id: 'bigint',
    key: 'text',
    request_hash: 'text',
    outcome: 'text',
    body: 'text',
    meta: 'text',
    created_at: 'timestamptz',
  },
  keys: { pk: ['company_id', 'key'] },
})

/** The row to load before `findReplay`. */
export const answerRefs = ({ actor, idempotency }: Pick<KeyedRequest, 'actor' | 'idempotency'>) =>
  idempotency ? [byPk(idempotentAnswers, storedKeyOf(actor, idempotency.key))] : []

/** The stored answer or the refusal for a request's key in a locked ledger; null if the request must be executed. */
export function findReplay(
  rows: Rows,
  request: Pick<KeyedRequest, 'actor' | 'idempotency'>,
  { revision, now }: Pick<OpenLedger, 'revision' | 'now'>,
): Answer | Refusal | null {
  const { idempotency } = request
  const [ref] = answerRefs(request)
  const stored = ref ? rows.get(ref) : null
  return stored && idempotency ? replayOf({ ...stored, revision, now }, idempotency) : null
}

/**
 * As findReplay, without the ledger lock, for requests of several units of work. The last unit stores the answer and
 * decides between concurrent equal requests. The row is locked briefly, which makes the statement a write: it waits for
 * the replica as the COMMIT of the answer did, because that COMMIT may not have been replicated.
 */
export async function lookUpReplay(
  pool: Database,
  { companyId, actor, idempotency }: KeyedRequest,
): Promise<Answer | Refusal | null> {
  if (!idempotency) return null
  const { rows } = await pool.query<AnswerRow>({
    name: 'find_answer',
    text: `select a.outcome, a.body, a.meta, a.request_hash, a.created_at, l.revision, now() as now
           from idempotent_answers a join ledgers l on l.company_id = a.company_id
           where a.company_id = $1 and a.key = $2 for share of a`,
    values: [companyId, storedKeyOf(actor, idempotency.key)],
  })
  return rows[0] ? replayOf(rows[0], idempotency) : null
}

interface AnswerRow extends Omit<StoredAnswer, 'company_id' | 'key'> {
  readonly revision: number
  /** UTC. */
  readonly now: string
}

/** An answer past its retention counts as absent, even before the purge deletes it. */
function replayOf(found: AnswerRow, { requestHash }: Idempotency): Answer | Refusal | null {
  const { outcome, body: json, meta, revision } = found
  if (Date.parse(found.now) - Date.parse(found.created_at) >= ANSWER_RETENTION_MS) return null
  return found.request_hash === requestHash
    ? createAnswer({ outcome, json, meta }, { revision, replayed: true })
    : refuse('idempotency_key_reuse')
}

export function storeAnswer(
  rows: Changes,
  { actor, idempotency: { key, requestHash } }: { readonly actor: string | null; readonly idempotency: Idempotency },
  { outcome, json, meta = null }: AnswerText,
  { companyId, lastRecordedAt }: Pick<OpenLedger, 'companyId' | 'lastRecordedAt'>,
): void {
  rows.put(idempotentAnswers, {
    company_id: companyId,
    key: storedKeyOf(actor, key),
    request_hash: requestHash,
    outcome,
    body: json,
    meta,
    created_at: lastRecordedAt,
  })
}

/**
 * Erases persons from a company's stored answers: a retry gets the same status, with their fields null. Scans
 * all answers that the company has stored in 24 hours.
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

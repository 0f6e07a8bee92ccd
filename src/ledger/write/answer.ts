import type { Refusal } from '#domain/refusal.ts'
import type { Accepted, OutcomeKind } from '../command.ts'

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
export const answerStatusOf = (outcome: AnswerOutcome): number => STATUSES[outcome]

/** Outcome of the request whose event records this status. */
export function recordedOutcomeOf(status: number): AnswerOutcome {
  const outcomes = Object.keys(STATUSES) as AnswerOutcome[]
  return outcomes.find((outcome) => STATUSES[outcome] === status) ?? 'updated'
}

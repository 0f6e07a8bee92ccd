import { hash } from 'node:crypto'
import canonicalizeModule from 'canonicalize'
import type { IdKind } from '#domain/record-values.ts'
import type { Refusal } from '#domain/refusals.ts'
import type { Permission } from '#domain/rights.ts'
import type { Statement } from '#postgres/transaction.ts'
import type { AnyRef, AnyTable } from './table.ts'
import type { Rows } from './working-set.ts'

/** Outcome for the subject, independent of the protocol; the edge maps it to a status. */
export type OutcomeKind = 'created' | 'updated' | 'deleted' | 'unchanged' | 'queued'

/** Retention of stored answers: a retry with the same Idempotency-Key gets the same answer for this long. */
export const ANSWER_RETENTION_MS = 24 * 3600 * 1000

/**
 * Rows of `ops` that belong to an event but must not be part of it, such as hashes of secrets. Written in the same
 * transaction.
 */
export interface PrivateRow {
  readonly table: AnyTable
  readonly row: object
}

export interface Accepted {
  readonly events: readonly NewEvent[]
  readonly outcome: OutcomeKind
  /** The record in the answer, such as `sale/981`. */
  readonly subject: string
  readonly privateRows: readonly PrivateRow[]
  /**
   * Metadata beside the record in the answer, such as warnings. Stored only with the answer under an Idempotency-Key:
   * an answer that was derived from events after a crash has none.
   */
  readonly remarks?: object | undefined
}

export type Decision = Accepted | Refusal

/** Grant of a permission, as fields of the event; with the user who approved the operation on the spot, if that was needed. */
export interface Grant {
  readonly approved_by?: number
}

/** Value of an operation under a permission with a limit, in cents, and what its record was given before. */
export interface LimitedUse {
  readonly cents: number
  readonly before: number
  /** The value is a limit to give, whatever was used of the own one. */
  readonly isAsLimit?: true
}

/**
 * Grants a permission to the actor, for an operation of a value if the permission has a limit. API keys and the service
 * have all permissions: scopes limit them.
 */
export type Permit = (permission: Permission, use?: LimitedUse) => Grant | Refusal

export const grantAll: Permit = () => ({})

/** Input of a decision beside the rows. Time and ids are passed in, so that `decide` stays pure. */
export interface DecisionContext {
  readonly companyId: number
  /**
   * The company's time: UTC, milliseconds, `Z`. Ahead of real time if the clock of a test company was advanced.
   */
  readonly now: string
  /** Revision that the first of the new events gets. */
  readonly revision: number
  /** recorded_at of the new events. Access (keys, users, invitations, secrets) is decided by this time. */
  readonly recordedAt: string
  /**
   * Time of the ledger's last event if that is ahead of the clock; `now` then equals it. Null otherwise.
   */
  readonly aheadUntil: string | null
  /** The command's channel; some refusals apply to the channel `api` only. */
  readonly origin: Origin
  readonly actor: string | null
  /**
   * For permissions that depend on the rows or may be approved: the grant belongs into the first event. Other commands
   * declare their `permission`.
   */
  readonly permit: Permit
  /** Result of the command's `lookup`. */
  readonly found: readonly unknown[]
  /** The company's next id of a kind. Ids of a refused command are reused by the next one. */
  nextId(kind: IdKind): number
}

/** A statement for rows that cannot be found by key. Its first parameter is the company. */
export interface Lookup extends Statement {
  readonly values: readonly unknown[]
}

/** A command: the rows it needs, and a pure, synchronous decision on them. */
export interface Command<I> {
  /** Permission that users need; checked before `decide`, which checks those that depend on the rows. */
  readonly permission?: Permission
  /**
   * May record an event while the ledger's last event is ahead of the clock. Only the correction of that state has
   * this.
   */
  readonly correctsClock?: true
  /**
   * May take long, or empties tables whose rows others of its group would have loaded. Such a command is a request and
   * a transaction by itself, recorded later than all before.
   */
  readonly isAlone?: true
  /** Rows known from the input alone. */
  needs(input: I): readonly AnyRef[]
  /** Rows known only from loaded rows, such as the items of a sale. Called once, after `needs` are loaded. */
  needsMore?(rows: Rows, input: I): readonly AnyRef[]
  /** Rows known only from those of `needsMore`. Called once, after these are loaded. */
  needsLast?(rows: Rows, input: I): readonly AnyRef[]
  /**
   * Reads rows by a statement under the ledger's lock, at the decision's time (UTC). The statement does not see changes
   * of the same request, so the command must be a request by itself. It may take long, so its transaction serves no
   * other company.
   */
  lookup?(rows: Rows, input: I, now: string): Lookup
  decide(rows: Rows, input: I, context: DecisionContext): Decision
}

// biome-ignore lint/suspicious/noExplicitAny: a list of commands mixes input types; `invoke` checked each pair
export type Invocation = { readonly command: Command<any>; readonly input: any }

export const invoke = <I>(command: Command<I>, input: I): Invocation => ({ command, input })

export const command = <I>(declaration: Command<I>): Command<I> => declaration

/**
 * Accepts: the events to append (none if nothing changes) and the record to show. The first event's subject is the
 * default.
 */
export function accept(
  outcome: OutcomeKind,
  subject: string,
  events: readonly NewEvent[] = [],
  privateRows: readonly PrivateRow[] = [],
  remarks?: object,
): Accepted {
  // After a crash the stored answer is derived from the events alone: from the subject of the first one.
  if (events[0] && events[0].subject !== subject)
    throw new Error(`an answer about ${subject} begins with an event about it`)
  return { outcome, subject, events, privateRows, ...(remarks && { remarks }) }
}

export const isRefusal = (value: object | null): value is Refusal => value !== null && 'refused' in value

// A CommonJS package whose types declare a default export.
const canonicalize = canonicalizeModule as unknown as (value: unknown) => string | undefined

/**
 * Source of an event: the integration API, a till, the panel, or the service itself. Until 2026-11 the panel was
 * recorded as `pdv`.
 */
export type Origin = 'api' | 'pdv' | 'panel' | 'system'

/** Origin as records and webhook messages name it: till and panel share one channel. */
export type Channel = Exclude<Origin, 'panel'>

export const toChannel = (origin: Origin): Channel => (origin === 'panel' ? 'pdv' : origin)

/** An event before it is appended, as a command decides it. */
export interface NewEvent {
  readonly type: string
  readonly version: number
  /** Subject of the event, such as `sale/981`. */
  readonly subject: string
  readonly data: object
}

/** Key, request hash and HTTP status of the single-command request that caused the event, so that catch-up can store its answer. */
export interface IdempotencyRecord {
  readonly key: string
  readonly request_hash: string
  readonly status: number
}

/** An event as it is stored, hashed and shown: every member is present, null if empty. */
export interface Envelope {
  readonly id: string
  readonly type: string
  readonly version: number
  readonly stream: string
  /** 0, 1, 2 … without gaps. */
  readonly revision: number
  /** UTC with milliseconds and `Z`; never earlier than in the stream's previous event. */
  readonly recorded_at: string
  readonly subject: string
  readonly origin: Origin
  /** `api_key/7`, `user/3`, or null for the service itself. */
  readonly actor: string | null
  /** The tool by which an agent acted, as `mcp:createSale`; the only member that is absent where there is none. */
  readonly via?: string
  readonly request_id: string | null
  readonly idempotency: IdempotencyRecord | null
  /** Hash of the previous event of the stream; 64 zeros at revision 0. */
  readonly previous_hash: string
  readonly hash: string
  readonly data: object
}

export const GENESIS_HASH = '0'.repeat(64)

/** Canonical JSON (RFC 8785), the form that is hashed and signed. */
export function canonicalJson(value: unknown): string {
  try {
    // Takes two thirds of the library's time; verification and sales spend much of theirs here.
    return JSON.stringify(inOrder(value))
  } catch (error) {
    if (error !== NOT_PLAIN) throw error
  }
  const text = canonicalize(value)
  if (text === undefined) throw new Error('there is nothing to write')
  return text
}

const NOT_PLAIN = new Error('not plain JSON')

/**
 * Copy of a value with all members in order of their names. @throws NOT_PLAIN if an object cannot hold them in that
 * order, or the value is not JSON.
 */
function inOrder(value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) throw NOT_PLAIN
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(inOrder)
  if (Object.getPrototypeOf(value) !== Object.prototype) throw NOT_PLAIN
  const ordered: Record<string, unknown> = {}
  for (const name of Object.keys(value).sort()) {
    // Objects list numeric names first, and `__proto__` would set the prototype.
    if (!isName(name)) throw NOT_PLAIN
    ordered[name] = inOrder((value as Record<string, unknown>)[name])
  }
  return ordered
}

/** Begins with a letter, as all names of the service do. */
function isName(name: string): boolean {
  const first = name.charCodeAt(0) | 0x20
  return first >= 0x61 && first <= 0x7a
}

/** Lowercase hex SHA-256 of the canonical JSON (RFC 8785) of the whole envelope without `hash`. */
export const hashEnvelope = (envelope: Omit<Envelope, 'hash'>): string => hash('sha256', canonicalJson(envelope), 'hex')

/** Prefix of company streams (EventStoreDB category naming). */
export const STREAM_PREFIX = 'company-'

export const streamName = (companyId: number): string => `${STREAM_PREFIX}${companyId}`

/** The company of a stream; null for any other stream. */
export function companyIdOfStream(stream: string): number | null {
  const match = /^company-([1-9]\d*)$/.exec(stream)
  return match ? Number(match[1]) : null
}

import { hash } from 'node:crypto'
import canonicalizeModule from 'canonicalize'

// A CommonJS package whose types declare a default export.
const canonicalize = canonicalizeModule as unknown as (value: unknown) => string | undefined

/**
 * Source of an event: the integration API, a till, the panel, or the service itself. Until 2026-11 the panel was
 * recorded as `pdv`.
 */
export type Origin = 'api' | 'pdv' | 'panel' | 'system'

/** Origin as records and webhook messages name it: till and panel share one channel (PANEL-110). */
export type Channel = Exclude<Origin, 'panel'>

export const channelOf = (origin: Origin): Channel => (origin === 'panel' ? 'pdv' : origin)

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

/** An event as it is stored, hashed and shown: every member is present, null if empty (LEDGER-2). */
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
export const hashOf = (envelope: Omit<Envelope, 'hash'>): string => hash('sha256', canonicalJson(envelope), 'hex')

/** Prefix of company streams (EventStoreDB category naming). */
export const STREAM_PREFIX = 'company-'

export const streamOf = (companyId: number): string => `${STREAM_PREFIX}${companyId}`

/** The company of a stream; null for any other stream. */
export function companyIdOfStream(stream: string): number | null {
  const match = /^company-([1-9]\d*)$/.exec(stream)
  return match ? Number(match[1]) : null
}

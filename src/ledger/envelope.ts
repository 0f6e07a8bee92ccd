import { hash } from 'node:crypto'
import canonicalizeModule from 'canonicalize'

// The package is CommonJS whose types speak of a default export.
const canonicalize = canonicalizeModule as unknown as (value: unknown) => string | undefined

/** What may cause an event: the integration API, a till, the panel, or the service itself. Until 2026-11 the panel was `pdv` too. */
export type Origin = 'api' | 'pdv' | 'panel' | 'system'

/** The same as records and messages to webhooks name it: till and panel are one counter (PANEL-110). */
export type Channel = Exclude<Origin, 'panel'>

export const channelOf = (origin: Origin): Channel => (origin === 'panel' ? 'pdv' : origin)

/** What a command decides: a fact that the ledger does not hold yet. */
export interface NewEvent {
  readonly type: string
  readonly version: number
  /** The record that the event is about, as `sale/981`. */
  readonly subject: string
  readonly data: object
}

/** Key, request hash and HTTP status of the single-command request that caused the event, so that catch-up can store its answer. */
export interface IdempotencyRecord {
  readonly key: string
  readonly request_hash: string
  readonly status: number
}

/** An event as it is stored, hashed and shown: every member is present, null when empty (LEDGER-2). */
export interface Envelope {
  readonly id: string
  readonly type: string
  readonly version: number
  readonly stream: string
  /** 0, 1, 2 … without gaps. */
  readonly revision: number
  /** UTC with milliseconds and `Z`; never less than the stream's previous one. */
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

/** The one text of a value that everybody hashes and signs alike (RFC 8785). */
export function canonicalJson(value: unknown): string {
  try {
    // In two thirds of the library's time, of which verification and sales spend much here.
    return JSON.stringify(inOrder(value))
  } catch (error) {
    if (error !== NOT_PLAIN) throw error
  }
  const text = canonicalize(value)
  if (text === undefined) throw new Error('there is nothing to write')
  return text
}

const NOT_PLAIN = new Error('not plain JSON')

/** The same with all members in order of their names. @throws NOT_PLAIN where an object cannot hold them in that order, or is none of JSON. */
function inOrder(value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) throw NOT_PLAIN
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(inOrder)
  if (Object.getPrototypeOf(value) !== Object.prototype) throw NOT_PLAIN
  const ordered: Record<string, unknown> = {}
  for (const name of Object.keys(value).sort()) {
    // Numbers come first in any object; `__proto__` would be its prototype.
    if (!isName(name)) throw NOT_PLAIN
    ordered[name] = inOrder((value as Record<string, unknown>)[name])
  }
  return ordered
}

/** Begins with a letter, as all names that the service gives. */
function isName(name: string): boolean {
  const first = name.charCodeAt(0) | 0x20
  return first >= 0x61 && first <= 0x7a
}

/** Lowercase hex SHA-256 of the canonical JSON (RFC 8785) of the whole envelope without `hash`. */
export const hashOf = (envelope: Omit<Envelope, 'hash'>): string => hash('sha256', canonicalJson(envelope), 'hex')

/** Of the streams of companies (EventStoreDB category naming). */
export const STREAM_PREFIX = 'company-'

export const streamOf = (companyId: number): string => `${STREAM_PREFIX}${companyId}`

/** The company of a stream, or null for a stream that is not a company's. */
export function companyIdOfStream(stream: string): number | null {
  const match = /^company-([1-9]\d*)$/.exec(stream)
  return match ? Number(match[1]) : null
}

import { type Envelope, hashOf } from '#ledger/envelope.ts'
import type { StoredEvent } from '#ledger/port.ts'

/** What can be wrong with a ledger (docs/auditors.md explains each). */
export type Fault =
  | 'malformed'
  | 'wrong_stream'
  | 'wrong_revision'
  | 'wrong_hash'
  | 'broken_chain'
  | 'time_goes_back'
  | 'columns_differ'
  | 'other_hash'
  | 'truncated'
  | 'beyond_head'

/** The last event that was found to be all right. */
export interface Place {
  readonly stream: string
  readonly revision: number
  /** Null where it is not known. */
  readonly hash: string | null
  readonly recordedAt: string
}

/** Every member is present in every envelope (DESIGN section 3), and there is no other. */
const MEMBERS = [
  'actor',
  'data',
  'hash',
  'id',
  'idempotency',
  'origin',
  'previous_hash',
  'recorded_at',
  'request_id',
  'revision',
  'stream',
  'subject',
  'type',
  'version',
]

const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** The envelope, or null where there is none, or more than one way to read it. */
export function parseStored({ json }: StoredEvent): Envelope | null {
  const event = parse(json)
  if (typeof event !== 'object' || event === null) return null
  if (Object.keys(event).sort().join() !== MEMBERS.join()) return null
  const { hash, previous_hash, recorded_at, revision } = event as Envelope
  if (typeof hash !== 'string' || typeof previous_hash !== 'string' || typeof revision !== 'number') return null
  return typeof recorded_at === 'string' && UTC.test(recorded_at) ? (event as Envelope) : null
}

function parse(json: string): unknown {
  try {
    const value: unknown = JSON.parse(json)
    // A member twice, or a number that not every reader understands: they would disagree about what was hashed.
    return JSON.stringify(value) === json ? value : null
  } catch {
    return null
  }
}

function isHashOf(hash: string, hashed: Omit<Envelope, 'hash'>): boolean {
  try {
    return hashOf(hashed) === hash
  } catch {
    // Nested deeper than anything that was ever written.
    return false
  }
}

/** What is wrong with an event that should come next after a place. */
export function faultOf(event: Envelope, beside: StoredEvent['beside'], after: Place): Fault | null {
  const { hash, ...hashed } = event
  if (event.stream !== after.stream) return 'wrong_stream'
  if (event.revision !== after.revision + 1) return 'wrong_revision'
  if (!isHashOf(hash, hashed)) return 'wrong_hash'
  if (event.previous_hash !== after.hash) return 'broken_chain'
  if (event.recorded_at < after.recordedAt) return 'time_goes_back'
  const kept = Object.entries(beside)
  return kept.some(([name, value]) => event[name as keyof Envelope] !== value) ? 'columns_differ' : null
}

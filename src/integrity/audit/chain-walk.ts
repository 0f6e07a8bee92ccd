import type { EventName } from '#events/catalogue.ts'
import { type Envelope, GENESIS_HASH, hashOf } from '#ledger/envelope.ts'
import type { StoredEvent } from '#ledger/port.ts'

/** What a verification found. */
export interface Verification {
  readonly valid: boolean
  /** Events that are all right, from where it began. */
  readonly checked: number
  /** The last of them; what was begun after, if there are none. */
  readonly revision: number
  readonly hash: string
  /** Where the ledger stops being what was written, and how that shows. */
  readonly first_error: { readonly revision: number; readonly reason: ChainFault } | null
}

/** A revision and the hash that it is known to have. */
export interface Anchor {
  readonly revision: number
  readonly hash: string
}

export interface ChainWalk {
  readonly stream: string
  /** Where the walk begins: after this revision; its hash is null where nobody knows it. By default at the first event. */
  readonly after?: { readonly revision: number; readonly hash: string | null }
  /** What the ledger must go through. Those before the beginning say nothing. */
  readonly anchors?: readonly Anchor[]
  /** Whether to leave it at this revision, though there may be more. */
  readonly isEnough?: (revision: number) => boolean
  readonly watch?: ChainObserver
}

/** Looks on, for what a single event cannot show. */
export interface ChainObserver {
  /** Where the ledger must go as far as. */
  readonly revision: number
  /** Each event that is all right, in order; what is wrong with the ledger up to it. */
  see(event: Envelope): ChainFault | null
}

/** The place before the first event of a stream. */
const BEGINNING = { revision: -1, hash: GENESIS_HASH }

/**
 * Walks a stream as it is stored: recomputes every hash and follows the chain. Memory does not grow with its length, and
 * it ends at the first fault, because after it nothing can be trusted.
 */
export async function walkChain(
  events: AsyncIterable<StoredEvent>,
  { stream, after = BEGINNING, anchors = [], isEnough = () => false, watch }: ChainWalk,
): Promise<Verification> {
  const hashes = hashesOf(anchors)
  const known = after.revision === BEGINNING.revision ? BEGINNING.hash : after.hash
  let at: Place = { stream, revision: after.revision, hash: known, recordedAt: '' }
  const found = (reason: ChainFault, revision = at.revision + 1): Verification => ({
    ...standing(at, after.revision),
    valid: false,
    first_error: { revision, reason },
  })

  if (at.hash !== null && isOther(hashes, at.revision, at.hash)) return found('other_hash', at.revision)
  for await (const stored of events) {
    const event = parseStored(stored)
    if (!event) return found('malformed')
    if (at.hash === null) {
      at = { ...at, hash: event.previous_hash }
      if (isOther(hashes, at.revision, event.previous_hash)) return found('other_hash', at.revision)
    }
    const fault = faultOf(event, stored.beside, at)
    if (fault) return found(fault)
    if (isOther(hashes, event.revision, event.hash)) return found('other_hash', event.revision)
    const seen = watch?.see(event)
    if (seen) return found(seen)
    at = { stream, revision: event.revision, hash: event.hash, recordedAt: event.recorded_at }
    if (isEnough(at.revision)) return standing(at, after.revision)
  }
  const isShort = [...anchors, ...(watch ? [watch] : [])].some(({ revision }) => revision > at.revision)
  return isShort ? found('truncated') : standing(at, after.revision)
}

function hashesOf(anchors: readonly Anchor[]): ReadonlyMap<number, string> {
  const hashes = new Map<number, string>()
  for (const { revision, hash } of anchors) {
    // Two that contradict each other cannot both be met.
    hashes.set(revision, (hashes.get(revision) ?? hash) === hash ? hash : '')
  }
  return hashes
}

const isOther = (hashes: ReadonlyMap<number, string>, revision: number, hash: string): boolean =>
  (hashes.get(revision) ?? hash) !== hash

/** All is well up to a place. */
const standing = ({ revision, hash }: Place, begunAfter: number): Verification => ({
  valid: true,
  checked: revision - begunAfter,
  revision,
  hash: hash ?? '',
  first_error: null,
})

/** What can be wrong with a ledger (docs/auditors.md explains each). */
export type ChainFault =
  | 'malformed'
  | 'wrong_stream'
  | 'wrong_revision'
  | 'wrong_hash'
  | 'broken_chain'
  | 'time_goes_back'
  | 'columns_differ'
  | 'other_hash'
  | 'other_root'
  | 'truncated'
  | 'beyond_head'
  | 'seal_altered'

/** The last event that was found to be all right. */
interface Place {
  readonly stream: string
  readonly revision: number
  /** Null where it is not known. */
  readonly hash: string | null
  readonly recordedAt: string
}

/** Every member is present in every envelope (LEDGER-2), and there is no other. */
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
  if (Object.keys(event).length !== MEMBERS.length || !MEMBERS.every((name) => Object.hasOwn(event, name))) return null
  const { hash, previous_hash, recorded_at, revision } = event as Envelope
  if (typeof hash !== 'string' || typeof previous_hash !== 'string' || typeof revision !== 'number') return null
  return typeof recorded_at === 'string' && UTC.test(recorded_at) ? (event as Envelope) : null
}

function parse(json: string): unknown {
  try {
    const value: unknown = JSON.parse(json)
    // A member twice, a number or half a pair of surrogates that not every reader understands: they would disagree about what was hashed.
    return JSON.stringify(value) === json && !hasLoneSurrogate(json) ? value : null
  } catch {
    return null
  }
}

/** JSON as it is written here escapes a surrogate only where it has no other half; `\\ud…` is a backslash and letters. */
const hasLoneSurrogate = (json: string): boolean => json.includes('\\ud') && /(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(json)

function isHashOf(hash: string, hashed: Omit<Envelope, 'hash'>): boolean {
  try {
    return hashOf(hashed) === hash
  } catch {
    // Nested deeper than anything that was ever written.
    return false
  }
}

/** The one event that says of itself that time goes back with it (LEDGER-20). */
const CLOCK_CORRECTED: EventName = 'CompanyClockCorrected'

/** What is wrong with an event that should come next after a place. */
function faultOf(event: Envelope, beside: StoredEvent['beside'], after: Place): ChainFault | null {
  const { hash, ...hashed } = event
  if (event.stream !== after.stream) return 'wrong_stream'
  if (event.revision !== after.revision + 1) return 'wrong_revision'
  if (!isHashOf(hash, hashed)) return 'wrong_hash'
  if (event.previous_hash !== after.hash) return 'broken_chain'
  if (event.recorded_at < after.recordedAt && event.type !== CLOCK_CORRECTED) return 'time_goes_back'
  const kept = Object.entries(beside)
  return kept.some(([name, value]) => event[name as keyof Envelope] !== value) ? 'columns_differ' : null
}

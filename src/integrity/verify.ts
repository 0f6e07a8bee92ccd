import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import type { Pool } from 'pg'
import type { EventName } from '#events/catalogue.ts'
import { type Envelope, GENESIS_HASH, hashEnvelope, streamName } from '#ledger/command.ts'
import type { EventStore, StoredEvent } from '#ledger/port.ts'
import { Unavailable } from '#lib/errors.ts'
import { createKeyedSemaphore, type LimiterFigures } from '#lib/fair-sharing.ts'
import type { Queryable } from '#postgres/database.ts'

/** Result of a verification. */
export interface Verification {
  readonly valid: boolean
  /** Number of valid events from the start of the walk. */
  readonly checked: number
  /** Revision of the last valid event; the start of the walk if there is none. */
  readonly revision: number
  readonly hash: string
  /** First invalid revision and its fault. */
  readonly first_error: { readonly revision: number; readonly reason: ChainFault } | null
}

/** A revision and its known hash. */
export interface Anchor {
  readonly revision: number
  readonly hash: string
}

interface ChainWalk {
  readonly stream: string
  /** Starts after this revision; the hash is null if unknown. Starts at the first event by default. */
  readonly after?: { readonly revision: number; readonly hash: string | null }
  /** Hashes that the ledger must have. Those before the start are ignored. */
  readonly anchors?: readonly Anchor[]
  /** Stops the walk at this revision even if more events follow. */
  readonly isEnough?: (revision: number) => boolean
  readonly watch?: ChainObserver
  /** Called after each valid event. */
  readonly onEvent?: () => void
}

/** Checks properties that span several events. */
interface ChainObserver {
  /** Revision that the ledger must reach. */
  readonly revision: number
  /** Receives each valid event in order and returns a fault of the ledger up to it. */
  see(event: Envelope): ChainFault | null
}

/** Position before the first event. */
const BEGINNING = { revision: -1, hash: GENESIS_HASH }

/**
 * Walks a stored stream: recomputes every hash and follows the chain. Uses constant memory and ends at the first fault,
 * because no later event can be trusted.
 */
export async function walkChain(
  events: AsyncIterable<StoredEvent>,
  { stream, after = BEGINNING, anchors = [], isEnough = () => false, watch, onEvent }: ChainWalk,
): Promise<Verification> {
  const hashes = hashesOf(anchors)
  const known = after.revision === BEGINNING.revision ? BEGINNING.hash : after.hash
  let at: ChainPosition = { stream, revision: after.revision, hash: known, recordedAt: '' }
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
    onEvent?.()
    if (isEnough(at.revision)) return standing(at, after.revision)
  }
  const isShort = [...anchors, ...(watch ? [watch] : [])].some(({ revision }) => revision > at.revision)
  return isShort ? found('truncated') : standing(at, after.revision)
}

function hashesOf(anchors: readonly Anchor[]): ReadonlyMap<number, string> {
  const hashes = new Map<number, string>()
  for (const { revision, hash } of anchors) {
    // Contradicting anchors cannot be met.
    hashes.set(revision, (hashes.get(revision) ?? hash) === hash ? hash : '')
  }
  return hashes
}

const isOther = (hashes: ReadonlyMap<number, string>, revision: number, hash: string): boolean =>
  (hashes.get(revision) ?? hash) !== hash

/** Result for a ledger without faults up to a position. */
const standing = ({ revision, hash }: ChainPosition, begunAfter: number): Verification => ({
  valid: true,
  checked: revision - begunAfter,
  revision,
  hash: hash ?? '',
  first_error: null,
})

/** Faults of a ledger (explained in docs/auditors.md). */
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

/** The last valid event. */
interface ChainPosition {
  readonly stream: string
  readonly revision: number
  /** Null if unknown. */
  readonly hash: string | null
  readonly recordedAt: string
}

/** Every envelope has exactly these members, and `via` if an agent acted (LEDGER-2). */
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

/** Parses a stored event; null if it is no envelope or its JSON is ambiguous. */
function parseStored({ json }: StoredEvent): Envelope | null {
  const event = parse(json)
  if (typeof event !== 'object' || event === null) return null
  const { via } = event as Envelope
  const members = MEMBERS.length + (via === undefined ? 0 : 1)
  if (Object.keys(event).length !== members || !MEMBERS.every((name) => Object.hasOwn(event, name))) return null
  if (via !== undefined && typeof via !== 'string') return null
  const { hash, previous_hash, recorded_at, revision } = event as Envelope
  if (typeof hash !== 'string' || typeof previous_hash !== 'string' || typeof revision !== 'number') return null
  return typeof recorded_at === 'string' && UTC.test(recorded_at) ? (event as Envelope) : null
}

function parse(json: string): unknown {
  try {
    const value: unknown = JSON.parse(json)
    // Refuses duplicate members, and numbers or lone surrogates that parsers read differently: readers would disagree
    // about the hashed content.
    return JSON.stringify(value) === json && !hasLoneSurrogate(json) ? value : null
  } catch {
    return null
  }
}

/** JSON.stringify escapes only lone surrogates; `\\ud…` is a backslash and letters. */
const hasLoneSurrogate = (json: string): boolean => json.includes('\\ud') && /(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(json)

function isHashOf(hash: string, hashed: Omit<Envelope, 'hash'>): boolean {
  try {
    return hashEnvelope(hashed) === hash
  } catch {
    // Nested deeper than any stored event.
    return false
  }
}

/** The only event at which time may go back (LEDGER-20). */
const CLOCK_CORRECTED: EventName = 'CompanyClockCorrected'

/** Checks the event that follows a position. */
function faultOf(event: Envelope, beside: StoredEvent['beside'], after: ChainPosition): ChainFault | null {
  const { hash, ...hashed } = event
  if (event.stream !== after.stream) return 'wrong_stream'
  if (event.revision !== after.revision + 1) return 'wrong_revision'
  if (!isHashOf(hash, hashed)) return 'wrong_hash'
  if (event.previous_hash !== after.hash) return 'broken_chain'
  if (event.recorded_at < after.recordedAt && event.type !== CLOCK_CORRECTED) return 'time_goes_back'
  const kept = Object.entries(beside)
  return kept.some(([name, value]) => event[name as keyof Envelope] !== value) ? 'columns_differ' : null
}

/** Stores of ledgers and of their read model. */
export interface LedgerStores {
  readonly pool: Pool
  readonly store: EventStore
}

export interface VerifyOptions extends Pick<ChainWalk, 'after' | 'isEnough' | 'watch' | 'onEvent'> {
  readonly anchors?: readonly Anchor[]
}

/** The ledger was altered. It gets no checkpoint: a signature would confirm the forgery. */
export class LedgerNotIntact extends Error {
  override readonly name = 'NotWhole'
  constructor(
    readonly companyId: number,
    readonly verification: Verification,
  ) {
    const { revision, reason } = verification.first_error ?? {}
    super(`the ledger of company ${companyId} is not whole: ${reason} at revision ${revision}`)
  }
}

/**
 * Verifies a company's stored ledger and compares it with the recorded position. This detects a truncated, replaced or
 * appended tail unless the record was altered too; checkpoints detect it in any case.
 */
export async function verifyLedger(
  { pool, store }: LedgerStores,
  companyId: number,
  { after, anchors = [], isEnough, watch, onEvent }: VerifyOptions = {},
): Promise<Verification> {
  const stream = streamName(companyId)
  const head = await loadLedgerHead(pool, companyId)
  const found = await walkChain(storedEvents(store, stream, after?.revision ?? null), {
    stream,
    anchors: [...anchors, head],
    ...(after && { after }),
    ...(isEnough && { isEnough }),
    ...(watch && { watch }),
    ...(onEvent && { onEvent }),
  })
  // A store outside Postgres may have events that were not applied yet.
  if (!found.valid || !store.transactional) return found
  const { revision } = await loadLedgerHead(pool, companyId)
  if (found.revision <= revision) return found
  return { ...found, valid: false, first_error: { revision: revision + 1, reason: 'beyond_head' } }
}

/**
 * Revision and hash up to which the read model has applied a ledger; the position of an empty ledger if nothing is
 * recorded.
 */
export async function loadLedgerHead(pool: Queryable, companyId: number): Promise<Anchor> {
  const { rows } = await pool.query<Anchor>('select revision, hash from ledgers where company_id = $1', [companyId])
  return rows[0] ?? { revision: -1, hash: GENESIS_HASH }
}

/** Stored events of a stream after a revision; null for all. */
function storedEvents(store: EventStore, stream: string, afterRevision: number | null): AsyncIterable<StoredEvent> {
  return store.stored?.(stream, afterRevision) ?? asRead(store, stream, (afterRevision ?? -1) + 1)
}

async function* asRead(store: EventStore, stream: string, fromRevision: number): AsyncGenerator<StoredEvent> {
  for await (const event of store.read(stream, fromRevision)) yield { json: JSON.stringify(event), beside: {} }
}

/** Time limit of one request, which then returns its progress. */
const LONGEST_MS = 10_000
/** Verification uses CPU time: limits the companies that run at the same time, so that sales continue. */
const LIMITS = { running: 2, waiting: 64 }

/** Verifies ledgers on request. */
export interface Verifier {
  /**
   * Verifies the events after a verified one, or all; `head` is the read model's revision at the start. Identical
   * concurrent requests share one run. @throws Unavailable while a different verification of the company is running.
   */
  verify(companyId: number, after: Anchor | null): Promise<Verified>
}

export interface Verified {
  readonly verification: Verification
  readonly head: number
  /** Root of the tree up to the verified revision (base64); null if the verification was partial or found a fault. */
  readonly root: string | null
}

/** Observer that also computes the root of the tree of the observed events (base64). */
export interface SealedWatch extends ChainObserver {
  root(): string
}

/** Checkpoints that a ledger must match. */
export interface SealedHeads {
  readonly anchors: readonly Anchor[]
  readonly watch: SealedWatch
}

export interface VerifierOptions {
  /** In milliseconds. */
  readonly clock: () => number
  /** For verifications from the first event. */
  readonly sealedOf: (companyId: number) => Promise<SealedHeads>
}

export function createVerifier(
  ledgers: LedgerStores,
  { clock, sealedOf }: VerifierOptions,
): Verifier & { readonly waiting: LimiterFigures } {
  const turns = createKeyedSemaphore(LIMITS)
  const running = new Map<number, { readonly after: Anchor | null; readonly result: Promise<Verified> }>()

  async function run(companyId: number, after: Anchor | null): Promise<Verified> {
    const head = await loadLedgerHead(ledgers.pool, companyId)
    const sealed = after === null ? await sealedOf(companyId) : null
    const deadline = clock() + LONGEST_MS
    const isEnough = () => clock() >= deadline
    const options = { ...(after && { after }), ...sealed, isEnough }
    const verification = await verifyLedger(ledgers, companyId, options)
    return { verification, head: head.revision, root: verification.valid && sealed ? sealed.watch.root() : null }
  }

  return {
    waiting: turns,
    verify(companyId, after) {
      const current = running.get(companyId)
      if (current) {
        if (isSame(current.after, after)) return current.result
        return Promise.reject(new Unavailable('the ledger is being verified'))
      }
      const result = turns.run(companyId, () => run(companyId, after)).finally(() => running.delete(companyId))
      running.set(companyId, { after, result })
      return result
    },
  }
}

const isSame = (a: Anchor | null, b: Anchor | null): boolean => a?.revision === b?.revision && a?.hash === b?.hash

/** Well above the longest event. Bounds the memory for a file without line ends. */
const LONGEST_LINE = 64 * 1_048_576

/** A company's stored events from a revision, one per line. */
export async function* exportLines(store: EventStore, companyId: number, fromRevision: number): AsyncGenerator<string> {
  const after = fromRevision === 0 ? null : fromRevision - 1
  for await (const { json } of storedEvents(store, streamName(companyId), after)) yield `${json}\n`
}

export interface ExportVerification extends Verification {
  /** Stream named in the first line; null for an empty file. */
  readonly stream: string | null
  /** Revision of the first line. Unless it is 0, the events before it are not verified. */
  readonly from: number
}

/**
 * Verifies an export without the service. `heldOf` returns the anchors for its stream (null: empty file) from its first
 * revision.
 */
export async function verifyExport(
  path: string,
  heldOf: (stream: string | null, from: number) => Pick<ChainWalk, 'anchors' | 'watch' | 'onEvent'>,
): Promise<ExportVerification> {
  const first = await firstEvent(path)
  const stream = first?.stream ?? null
  const from = first?.revision ?? 0
  const found = await walkChain(linesOf(path), {
    stream: stream ?? '',
    ...heldOf(stream, from),
    ...(from > 0 && { after: { revision: from - 1, hash: null } }),
  })
  return { stream, from, ...found }
}

async function firstEvent(path: string) {
  for await (const line of linesOf(path)) return parseStored(line)
  return null
}

/** Only a line feed ends a line: text may contain other characters that some readers treat as line ends. */
async function* linesOf(path: string): AsyncGenerator<StoredEvent> {
  let rest = ''
  // Latin-1 keeps one character per byte, so that invalid UTF-8 affects its own line only.
  for await (const chunk of createReadStream(path, 'latin1')) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > LONGEST_LINE) break
    for (const line of lines) yield storedOf(line)
  }
  if (rest !== '') yield storedOf(rest)
}

/** Invalid UTF-8 cannot belong to an event: programs would decode it differently. */
function storedOf(line: string): StoredEvent {
  const bytes = Buffer.from(line, 'latin1')
  return { json: isUtf8(bytes) ? bytes.toString() : '', beside: {} }
}

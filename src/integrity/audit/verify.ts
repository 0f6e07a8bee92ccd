import type { Pool } from 'pg'
import { GENESIS_HASH, streamOf } from '#ledger/envelope.ts'
import type { EventStore, StoredEvent } from '#ledger/port.ts'
import { Unavailable } from '#lib/errors.ts'
import type { LimiterFigures } from '#lib/fair-share-limiter.ts'
import { createKeyedSemaphore } from '#lib/keyed-semaphore.ts'
import type { Queryable } from '#postgres/database.ts'
import { type Anchor, type ChainObserver, type ChainWalk, type Verification, walkChain } from './chain-walk.ts'

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
  const stream = streamOf(companyId)
  const head = await headOf(pool, companyId)
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
  const { revision } = await headOf(pool, companyId)
  if (found.revision <= revision) return found
  return { ...found, valid: false, first_error: { revision: revision + 1, reason: 'beyond_head' } }
}

/**
 * Revision and hash up to which the read model has applied a ledger; the position of an empty ledger if nothing is
 * recorded.
 */
export async function headOf(pool: Queryable, companyId: number): Promise<Anchor> {
  const { rows } = await pool.query<Anchor>('select revision, hash from ledgers where company_id = $1', [companyId])
  return rows[0] ?? { revision: -1, hash: GENESIS_HASH }
}

/** Stored events of a stream after a revision; null for all. */
export function storedEvents(
  store: EventStore,
  stream: string,
  afterRevision: number | null,
): AsyncIterable<StoredEvent> {
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
    const head = await headOf(ledgers.pool, companyId)
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

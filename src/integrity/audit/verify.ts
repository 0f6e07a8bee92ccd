import type { Pool } from 'pg'
import { GENESIS_HASH, streamOf } from '#ledger/envelope.ts'
import type { EventStore, StoredEvent } from '#ledger/port.ts'
import { Unavailable } from '#lib/errors.ts'
import type { LimiterFigures } from '#lib/fair-share-limiter.ts'
import { createKeyedSemaphore } from '#lib/keyed-semaphore.ts'
import { type Anchor, type ChainObserver, type ChainWalk, type Verification, walkChain } from './chain-walk.ts'

/** Where ledgers and what is known of them are found. */
export interface LedgerStores {
  readonly pool: Pool
  readonly store: EventStore
}

export interface VerifyOptions extends Pick<ChainWalk, 'after' | 'isEnough' | 'watch'> {
  readonly anchors?: readonly Anchor[]
}

/** A ledger that is not what it was is not sealed: a signature would make the forgery the truth. */
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
 * Verifies a company's ledger as it is stored, and holds it against the position that the service has noted for it:
 * a tail that was cut off, replaced or put on by hand is found as long as that note was left alone (seals find it anyway).
 */
export async function verifyLedger(
  { pool, store }: LedgerStores,
  companyId: number,
  { after, anchors = [], isEnough, watch }: VerifyOptions = {},
): Promise<Verification> {
  const stream = streamOf(companyId)
  const head = await headOf(pool, companyId)
  const found = await walkChain(storedEvents(store, stream, after?.revision ?? null), {
    stream,
    anchors: [...anchors, head],
    ...(after && { after }),
    ...(isEnough && { isEnough }),
    ...(watch && { watch }),
  })
  // A store outside of Postgres may hold what was not applied yet.
  if (!found.valid || !store.transactional) return found
  const { revision } = await headOf(pool, companyId)
  if (found.revision <= revision) return found
  return { ...found, valid: false, first_error: { revision: revision + 1, reason: 'beyond_head' } }
}

/** How far the read model has come with a ledger, and the hash there; as of an empty one where nothing is noted. */
export async function headOf(pool: Pool, companyId: number): Promise<Anchor> {
  const { rows } = await pool.query<Anchor>('select revision, hash from ledgers where company_id = $1', [companyId])
  return rows[0] ?? { revision: -1, hash: GENESIS_HASH }
}

/** A stream after a revision as it is kept (null: from its beginning). */
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

/** Longest time that one call spends; it then answers how far it came. */
const LONGEST_MS = 10_000
/** It takes the processor: a few companies at a time, so that sales go on. */
const LIMITS = { running: 2, waiting: 64 }

/** Verifies ledgers for callers of the service. */
export interface Verifier {
  /**
   * Verifies what follows an event that was verified before, or all; `head` is the read model's revision at the beginning.
   * @throws Unavailable while another verification of the company is under way, unless it is the same one, which is shared.
   */
  verify(companyId: number, after: Anchor | null): Promise<Verified>
}

export interface Verified {
  readonly verification: Verification
  readonly head: number
  /** Of the ledger's tree up to the verified revision (base64); null where not all of it was looked at, or it is not whole. */
  readonly root: string | null
}

/** Looks on, and tells the root of the tree of what it has seen (base64). */
export interface SealedWatch extends ChainObserver {
  root(): string
}

/** What was sealed of a ledger, which it has to go through. */
export interface SealedHeads {
  readonly anchors: readonly Anchor[]
  readonly watch: SealedWatch
}

export interface VerifierOptions {
  /** In milliseconds. */
  readonly clock: () => number
  /** For a verification that begins at the first event. */
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

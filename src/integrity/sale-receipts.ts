import { deflateRawSync } from 'node:zlib'
import type { Pool } from 'pg'
import { type Envelope, hashEnvelope, streamName } from '#ledger/command.ts'
import type { EventStore } from '#ledger/port.ts'
import { Unavailable } from '#lib/errors.ts'
import type { Reader } from '#queries/reader.ts'
import { findSaleEvents } from '#queries/sale-queries.ts'
import { type AttestationStatus, attestationStatuses } from './attestations.ts'
import type { NamedAttestor } from './attestors.ts'
import { type RingEntry, ringEntries } from './checkpoint-keys.ts'
import type { SignedCheckpoint } from './checkpoint-log.ts'
import { createCheckpoints, newestCheckpoint, type Sealing } from './checkpoints.ts'
import { loadInstallation } from './installation.ts'
import { type LogInclusion, proveLogInclusion } from './installation-log.ts'
import { installationOrigin, proofText } from './note.ts'
import type { Prover } from './prover.ts'
import { LedgerNotIntact } from './verify.ts'

/** Checkpoints and keys for clients of the service. */
export interface ProofServices {
  /**
   * A checkpoint that covers at least `atLeastSize` events: the newest one, or a new one of all events, at most one a
   * second and company. Null for an empty ledger. @throws LedgerNotIntact, CheckpointAltered, WrongSealKey, Unavailable
   */
  checkpointOf(companyId: number, atLeastSize: number): Promise<SignedCheckpoint | null>
  /** The newest checkpoint of a ledger; null if there is none. */
  newest(companyId: number): Promise<SignedCheckpoint | null>
  /**
   * Inclusion of a company's last checkpoint in the installation log; null before the first round that covers one.
   * @throws TreeDiffers
   */
  placeOf(companyId: number): Promise<LogInclusion | null>
  /** The key ring, oldest entry first. */
  keys(): Promise<RingEntry[]>
  /** Name of the installation log. */
  log(): Promise<string>
  /** Status of the attestors of the installation log. */
  attestors(): Promise<AttestationStatus[]>
}

interface ProofOptions {
  /** Null without a directory for checkpoints: none are made. */
  readonly sealing: Sealing | null
  readonly attestors: readonly NamedAttestor[]
}

export function createProofServices(pool: Pool, { sealing, attestors }: ProofOptions): ProofServices {
  const nowhere = () => Promise.reject(new Unavailable('there is no place for seals'))
  return {
    checkpointOf: sealing ? createCheckpoints(sealing) : nowhere,
    newest: (companyId) => newestCheckpoint(pool, companyId),
    placeOf: (companyId) => proveLogInclusion(pool, companyId),
    keys: () => ringEntries(pool),
    async log() {
      const { family: installationId, cell } = await loadInstallation(pool)
      return installationOrigin({ installationId, cell })
    },
    attestors: () => attestationStatuses(pool, attestors),
  }
}

/** Path of the page that verifies receipts. */
export const RECEIPT_PAGE = '/conferir'

/** An event with a proof of its inclusion in a ledger with a signed head. */
export interface ProvedEvent {
  /** As stored, with personal fields sealed. */
  readonly event: Envelope
  /** C2SP tlog-proof with the ledger's checkpoint. */
  readonly proof: string
}

/** Receipt: proof of a sale, an account or its payment that the buyer can verify offline (PROOF-40). */
export interface Receipt extends ProvedEvent {
  readonly version: 1
  /** Proof of a cancellation before the receipt was made. */
  readonly cancellation?: ProvedEvent
}

/** Above the capacity of the largest QR code. The cost of the decimal form grows with the square of its length. */
const MOST_DEFLATED_BYTES = 3_000

/**
 * Encodes a receipt in decimal digits: deflated JSON behind a first hex digit that preserves zeros. A QR
 * code stores three digits in ten bits, and URLs accept digits. Null if it does not fit in a QR code.
 */
export function toReceiptDigits(receipt: Receipt): string | null {
  const deflated = deflateRawSync(JSON.stringify(receipt), { level: 9 })
  return deflated.length > MOST_DEFLATED_BYTES ? null : BigInt(`0x1${deflated.toString('hex')}`).toString()
}

/**
 * Fragment of the page's URL, which browsers do not send: the receipt, or the hash of its event if the receipt is too
 * long.
 */
export const HASH_FRAGMENT = 'hash='

interface Making {
  readonly reader: Reader
  readonly store: EventStore
  readonly proof: Pick<ProofServices, 'checkpointOf'>
  readonly prover: Pick<Prover, 'inclusion'>
}

export interface MadeReceipt {
  readonly receipt: Receipt
  /** Revision of the read model that found the sale. */
  readonly revision: number
}

/** Longest wait for a checkpoint. After that the client must retry; the checkpoint is still being made. */
const LONGEST_WAIT_MS = 5_000

/**
 * Receipt of a sale, verified before it is returned. It uses the newest checkpoint that covers the sale, or a new one. Null if the company has no such sale. @throws Unavailable if a checkpoint takes too long or the
 * queue is full; LedgerNotIntact, CheckpointAltered, WrongSealKey, TreeDiffers if there is nothing to prove
 */
export async function makeSaleReceipt(making: Making, saleId: number): Promise<MadeReceipt | null> {
  const { companyId } = making.reader
  const found = await findSaleEvents(making.reader, saleId)
  if (!found) return null
  const [sale] = await pick(making, companyId, [found.revision])
  if (!sale) throw broken(companyId, found.revision)
  const isCancelledLater = found.isCancelled && sale.type !== 'OfflineSaleCancelled'
  const cancellation = isCancelledLater ? await cancellationOf(making, companyId, found.later) : null
  const checkpoint = await covering(making.proof, companyId, (cancellation ?? sale).revision + 1)
  const proved = await proveEvent(making, companyId, sale, checkpoint)
  const receipt: Receipt = {
    version: 1,
    ...proved,
    ...(cancellation && { cancellation: await proveEvent(making, companyId, cancellation, checkpoint) }),
  }
  return { receipt, revision: found.head }
}

/**
 * Receipt of one event, verified as that of a sale is. @throws as makeSaleReceipt
 */
export async function makeEventReceipt(making: Making, revision: number): Promise<Receipt> {
  const { companyId } = making.reader
  const [event] = await pick(making, companyId, [revision])
  if (!event) throw broken(companyId, revision)
  const checkpoint = await covering(making.proof, companyId, revision + 1)
  return { version: 1, ...(await proveEvent(making, companyId, event, checkpoint)) }
}

async function pick({ store }: Making, companyId: number, revisions: readonly number[]): Promise<Envelope[]> {
  const events: Envelope[] = []
  for await (const event of store.pick(streamName(companyId), revisions)) events.push(event)
  return events
}

/** Events read at once. */
const AT_ONCE = 32

/** Searches the events that changed the sale backwards, because few follow a cancellation. */
async function cancellationOf(making: Making, companyId: number, later: readonly number[]): Promise<Envelope> {
  for (let end = later.length; end > 0; end -= AT_ONCE) {
    const events = await pick(making, companyId, later.slice(Math.max(0, end - AT_ONCE), end))
    const found = events.find(({ type }) => type === 'SaleCancelled')
    if (found) return found
  }
  throw broken(companyId, later.at(-1) ?? 0)
}

/** A retry finds the checkpoint that was still being made. @throws Unavailable on timeout */
export async function covering(
  proof: Making['proof'],
  companyId: number,
  atLeastSize: number,
  longestWaitMs = LONGEST_WAIT_MS,
): Promise<SignedCheckpoint> {
  const making = proof.checkpointOf(companyId, atLeastSize)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Unavailable('a checkpoint is being made')), longestWaitMs)
  })
  try {
    const checkpoint = await Promise.race([making, late])
    if (!checkpoint) throw broken(companyId, atLeastSize - 1)
    return checkpoint
  } finally {
    clearTimeout(timer)
    making.catch(() => {})
  }
}

/** @throws LedgerNotIntact if the event is not the one that was hashed and signed */
async function proveEvent(
  { prover }: Making,
  companyId: number,
  event: Envelope,
  { size, root, note }: SignedCheckpoint,
): Promise<ProvedEvent> {
  const { hash, revision } = event
  if (hashEnvelope(withoutHash(event)) !== hash) throw broken(companyId, revision, 'wrong_hash')
  const proved = await prover.inclusion(companyId, revision, size)
  if (!proved || 'available' in proved) throw broken(companyId, revision)
  if (proved.hash !== hash || !proved.root.equals(root)) throw broken(companyId, revision, 'other_root')
  return { event, proof: proofText({ index: revision, hashes: proved.hashes, checkpoint: note }) }
}

const withoutHash = ({ hash: _, ...rest }: Envelope): Omit<Envelope, 'hash'> => rest

type Reason = NonNullable<ConstructorParameters<typeof LedgerNotIntact>[1]['first_error']>['reason']

/** The ledger does not match its checkpoints or the tables. */
const broken = (companyId: number, revision: number, reason: Reason = 'truncated'): LedgerNotIntact =>
  new LedgerNotIntact(companyId, {
    valid: false,
    checked: 0,
    revision: revision - 1,
    hash: '',
    first_error: { revision, reason },
  })

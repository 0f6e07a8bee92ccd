import { setTimeout as wait } from 'node:timers/promises'
import type { Pool, PoolClient } from 'pg'
import type { Anchor } from '#integrity/audit/chain-walk.ts'
import { LedgerNotIntact, verifyLedger } from '#integrity/audit/verify.ts'
import { GENESIS_HASH } from '#ledger/envelope.ts'
import type { EventStore } from '#ledger/port.ts'
import { createKeyedSemaphore } from '#lib/keyed-semaphore.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { parseCheckpoint } from './checkpoint.ts'
import { CheckpointAltered, sealingError } from './checkpoint-files.ts'
import {
  type CheckpointLog,
  type Line,
  lastStoredCheckpoint,
  ledgerCheckpoints,
  parseStoredCheckpoint,
  type SignedCheckpoint,
  type StoredCheckpoint,
  signHead,
  storeCheckpoint,
} from './checkpoint-log.ts'
import { lockedKeyRing, openKeyRing, type RingPlace } from './key-ring.ts'
import { generationOf } from './log-generation.ts'
import { appenderFrom, type Hashes, leafHash, rootOf, type TreeHead } from './merkle.ts'
import { emptyTree, growTree, hashesOf, ledgerLog, TreeDiffers, type TreeLog } from './trees.ts'

/** What checkpoints are made with, and where they are kept. */
export interface Sealing extends RingPlace {
  readonly store: EventStore
  /** @throws where nothing may be signed now, as in a restored database. */
  readonly assertMaySeal: () => Promise<void>
}

/** The newest checkpoint of a ledger as it is written now, as the database has it; null where there is none. */
export async function newestCheckpoint(
  client: Pick<PoolClient, 'query'>,
  companyId: number,
): Promise<SignedCheckpoint | null> {
  const { rows } = await client.query<Line>(
    `select note, made_at from ops.ledger_checkpoints
     where company_id = $1 order by generation desc, size desc limit 1`,
    [companyId],
  )
  return rows[0] ? parseStoredCheckpoint(rows[0]) : null
}

/** Between two checkpoints of a ledger that callers ask for. */
const LEAST_MS_BETWEEN = 1_000
/** It takes the processor, and connections: a few companies at a time. */
const LIMITS = { running: 2, waiting: 64 }

/** Makes checkpoints for callers (PROOF-27). */
export function createCheckpoints(sealing: Sealing) {
  const turns = createKeyedSemaphore(LIMITS)
  const running = new Map<number, Promise<SignedCheckpoint | null>>()

  function start(companyId: number): Promise<SignedCheckpoint | null> {
    const made = turns
      .run(companyId, () => makeCheckpoint(sealing, companyId))
      .catch((error: unknown) => {
        throw sealingError(sealing.directory, error)
      })
      .finally(() => running.delete(companyId))
    running.set(companyId, made)
    return made
  }

  /**
   * A checkpoint that covers at least so many events: the newest one if it does, else a new one of all there are, at most one a
   * second. Null for an empty ledger. @throws LedgerNotIntact, CheckpointAltered, WrongSealKey; SealsUnwritable; Unavailable when too many ask
   */
  return async (companyId: number, atLeastSize: number): Promise<SignedCheckpoint | null> => {
    for (;;) {
      const newest = await newestCheckpoint(sealing.pool, companyId)
      if (newest && newest.size >= atLeastSize) return newest
      const current = running.get(companyId)
      const since_ms = newest ? Date.parse(sealing.now()) - Date.parse(newest.made_at) : LEAST_MS_BETWEEN
      if (current) await current
      else if (since_ms >= 0 && since_ms < LEAST_MS_BETWEEN) await wait(LEAST_MS_BETWEEN - since_ms)
      else return start(companyId)
    }
  }
}

/**
 * Verifies what a ledger has had added since its last checkpoint, and signs its head. The last one has to be signed by a key of
 * the ring, and the ledger to go through it. Without anything new it is the last one. Null for an empty ledger, or when it is stopped. @throws LedgerNotIntact, CheckpointAltered, WrongSealKey
 */
export async function makeCheckpoint(
  sealing: Sealing,
  companyId: number,
  isStopped: () => boolean = () => false,
): Promise<SignedCheckpoint | null> {
  const { pool, directory } = sealing
  await sealing.assertMaySeal()
  for (;;) {
    const ring = await openKeyRing(sealing)
    const generation = await generationOf(pool, directory, companyId)
    const log = ledgerCheckpoints(ring, directory, companyId, generation.number)
    const kept = await lastStoredCheckpoint(pool, log, ring)
    await assertEntryCovered(pool, companyId, kept.last, log)
    const first = kept.last ? [] : generation.anchors(ring)
    const head = await verifiedHead(sealing, companyId, { last: kept.last, first, isStopped })
    if (isStopped() || head.size === 0) return null
    const made = await signOnce(sealing, { lock: companyId, log, kept, head })
    if (made) return made
  }
}

interface Signing {
  /** The company, or 0 for the installation log. */
  readonly lock: number
  readonly log: CheckpointLog
  /** What the head was verified from. */
  readonly kept: StoredCheckpoint
  readonly head: TreeHead
}

/**
 * Signs a head under the lock of its log, and keeps it: null when somebody else has signed since it was verified, so that no two
 * are signed of one size. A head that was signed already is only kept where it is missing.
 */
export async function signOnce(sealing: Sealing, { lock, log, kept, head }: Signing): Promise<SignedCheckpoint | null> {
  return inTransaction(sealing.pool, async (_, client) => {
    const key = `tillbook checkpoint ${lock}`
    await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [key])
    const ring = await lockedKeyRing(sealing, client)
    const now = await lastStoredCheckpoint(client, log, ring)
    if (now.last?.note !== kept.last?.note) return null
    if (now.last) await storeCheckpoint(client, log, now.last, now)
    if (now.last?.size === head.size) return now.last
    const made = signHead(ring, log, head, sealing.now())
    await storeCheckpoint(client, log, made, { isInFile: false, isInTable: false })
    return made
  })
}

interface Since {
  readonly last: SignedCheckpoint | null
  /** What a ledger without checkpoints has to go through. */
  readonly first: readonly Anchor[]
  readonly isStopped: () => boolean
}

/** The tree's head, from the peaks of the last checkpoint and events that were verified. @throws LedgerNotIntact */
async function verifiedHead(sealing: Sealing, companyId: number, { last, first, isStopped }: Since): Promise<TreeHead> {
  const hashes = last && (await hashesAt(sealing, companyId, last))
  const size = last?.size ?? 0
  const appender = appenderFrom(hashes, size)
  const known = hashes?.hash(0, size - 1)
  const found = await verifyLedger(sealing, companyId, {
    anchors: first,
    isEnough: isStopped,
    // The last event that was sealed is verified again: what follows is chained to it.
    ...(size > 0 && { after: { revision: size - 2, hash: null } }),
    watch: {
      revision: size - 1,
      see({ revision, hash }) {
        const leaf = leafHash(Buffer.from(hash, 'hex'))
        if (revision >= appender.size) appender.append(leaf)
        else if (!known?.equals(leaf)) return 'other_hash'
        return null
      },
    },
  })
  if (!found.valid) throw new LedgerNotIntact(companyId, found)
  return { size: appender.size, root: appender.root() }
}

/** The tree that was signed. @throws LedgerNotIntact when the events do not make it any more. */
async function hashesAt({ pool, store }: Sealing, companyId: number, last: TreeHead): Promise<Hashes> {
  const { hashes, size } = await treeWith(pool, ledgerLog(store, companyId), last)
  if (hashes) return hashes
  const reason = size < last.size ? 'truncated' : 'other_root'
  const first_error = { revision: Math.min(size, last.size - 1), reason } as const
  throw new LedgerNotIntact(companyId, { valid: false, checked: 0, revision: -1, hash: GENESIS_HASH, first_error })
}

/** What is kept of a tree is a cache: where it has not the root that was signed, it is made anew; null where that has not either. */
export async function treeWith(
  pool: Pool,
  log: TreeLog,
  last: TreeHead,
): Promise<{ hashes: Hashes | null; size: number }> {
  await growTree(pool, log)
  const hashes = await hashesOf(pool, log.id, last.size)
  if (hasRoot(hashes, last)) return { hashes, size: last.size }
  await emptyTree(pool, log.id)
  const { size } = await growTree(pool, log)
  const anew = await hashesOf(pool, log.id, last.size)
  return { hashes: size >= last.size && hasRoot(anew, last) ? anew : null, size }
}

function hasRoot(hashes: Hashes, { size, root }: TreeHead): boolean {
  try {
    return rootOf(hashes, size).equals(root)
  } catch (error) {
    if (error instanceof TreeDiffers) return false
    throw error
  }
}

/** The installation log knows checkpoints that are gone from everywhere else. @throws CheckpointAltered */
async function assertEntryCovered(
  client: Pick<PoolClient, 'query'>,
  companyId: number,
  last: SignedCheckpoint | null,
  { origin }: CheckpointLog,
): Promise<void> {
  const { rows } = await client.query<{ text: string }>(
    'select text from ops.installation_entries where company_id = $1 order by index desc limit 1',
    [companyId],
  )
  const entry = rows[0] && parseCheckpoint(rows[0].text)
  if (entry?.origin === origin && entry.size > (last?.size ?? 0))
    throw new CheckpointAltered(`checkpoints of company ${companyId} are gone that the installation log has entries of`)
}

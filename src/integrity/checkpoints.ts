import { setTimeout as wait } from 'node:timers/promises'
import { GENESIS_HASH } from '#ledger/command.ts'
import type { EventStore } from '#ledger/port.ts'
import { plainSql } from '#ledger/table.ts'
import { createKeyedSemaphore } from '#lib/fair-sharing.ts'
import type { Database, Queryable } from '#postgres/database.ts'
import { inTransaction } from '#postgres/transaction.ts'
import type { Reader } from '#queries/reader.ts'
import { t } from '#queries/table-names.ts'
import { type KnownRing, lockedKeyRing, openKeyRing, type RingPlace, toVerifierKeys } from './checkpoint-keys.ts'
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
import { type KeptStatement, loadStatements, openRestored, parseRestored, restoredName } from './installation.ts'
import { appenderFrom, computeRoot, type Hashes, leafHash, type TreeHead } from './merkle.ts'
import { CheckpointAltered, parseCheckpoint, sealingError } from './note.ts'
import { emptyTree, growTree, ledgerLog, readTreeHashes, TreeDiffers, type TreeLog } from './trees.ts'
import { type Anchor, LedgerNotIntact, verifyLedger } from './verify.ts'

type Client = Queryable

/** A company's present log. */
export interface Generation {
  /** Counts from 1. A restore that lost sealed events starts another log. */
  readonly number: number
  /** Anchors of its first checkpoint. @throws CheckpointAltered if the restore statement is not genuine. */
  anchors(ring: KnownRing): readonly Anchor[]
}

/** Each restore that lost sealed events adds a generation. */
export async function countGeneration(client: Client, directory: string, companyId: number): Promise<Generation> {
  const losses = (await loadStatements(client, directory, companyId)).filter(({ note }) => isLoss(note))
  const last = losses.at(-1)
  return { number: 1 + losses.length, anchors: (ring) => (last ? [throughStatement(last, ring)] : []) }
}

/** Whether the restore lost the last sealed event, but not the whole ledger. */
function isLoss(note: string): boolean {
  const said = parseRestored(note)
  return said?.since != null && said.since.origin !== said.before.origin
}

/** @throws CheckpointAltered */
function throughStatement({ company_id, note }: KeptStatement, ring: KnownRing): Anchor {
  const said = openRestored(note, toVerifierKeys(ring, restoredName(ring.installationId)))
  if (said?.company_id !== company_id || !said.since || said.hash === null)
    throw new CheckpointAltered(
      `the statement of company ${company_id}'s restore is not one that a known key has signed`,
    )
  return { revision: said.since.size - 1, hash: said.hash }
}

/** Dependencies and storage of checkpoints. */
export interface Sealing extends RingPlace {
  readonly store: EventStore
  /** @throws if signing is blocked, for example in a restored database. */
  readonly assertMaySeal: () => Promise<void>
}

const NEWEST = `select note, made_at from ${t.ledger_checkpoints}
  where company_id = $1 order by generation desc, size desc limit 1`

/** The newest checkpoint of the ledger's present log, from the database; null if there is none. */
export async function newestCheckpoint(client: Queryable, companyId: number): Promise<SignedCheckpoint | null> {
  const { rows } = await client.query<Line>(plainSql(NEWEST), [companyId])
  return rows[0] ? parseStoredCheckpoint(rows[0]) : null
}

/** Minimum interval between two requested checkpoints of a ledger. */
const LEAST_MS_BETWEEN = 1_000
/** Checkpoints need CPU time and connections: limits the companies that run at the same time. */
const LIMITS = { running: 2, waiting: 64 }

/** Makes checkpoints on request (PROOF-27). */
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
   * A checkpoint that covers at least `atLeastSize` events: the newest one, or a new one of all events, at most one a
   * second. Null for an empty ledger. @throws LedgerNotIntact, CheckpointAltered, WrongSealKey; SealsUnwritable;
   * Unavailable if the queue is full
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
 * Verifies the events since the last checkpoint and signs the ledger's head. A key of the ring must have signed the
 * last checkpoint, and the ledger must extend it. Without new events it returns the last checkpoint. Null for an empty
 * ledger, or if it is stopped. @throws LedgerNotIntact, CheckpointAltered, WrongSealKey
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
    const generation = await countGeneration(pool, directory, companyId)
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
  /** The company's id; 0 for the installation log. */
  readonly lock: number
  readonly log: CheckpointLog
  /** The checkpoint from which the head was verified. */
  readonly kept: StoredCheckpoint
  readonly head: TreeHead
}

/**
 * Signs and stores a head under the lock of its log. Null if another process has signed since the verification, so that
 * no size is signed twice. A head with a signature is only stored where it is missing.
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
  /** Anchors of a ledger without checkpoints. */
  readonly first: readonly Anchor[]
  readonly isStopped: () => boolean
}

/** The tree head, from the peaks of the last checkpoint and the verified new events. @throws LedgerNotIntact */
async function verifiedHead(sealing: Sealing, companyId: number, { last, first, isStopped }: Since): Promise<TreeHead> {
  const hashes = last && (await hashesAt(sealing, companyId, last))
  const size = last?.size ?? 0
  const appender = appenderFrom(hashes, size)
  const known = hashes?.hash(0, size - 1)
  const found = await verifyLedger(sealing, companyId, {
    anchors: first,
    isEnough: isStopped,
    // Verifies the last sealed event again, because the next event is chained to it.
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

/** Hashes of the signed tree. @throws LedgerNotIntact if the events no longer produce its root. */
async function hashesAt({ pool, store }: Sealing, companyId: number, last: TreeHead): Promise<Hashes> {
  const { hashes, size } = await treeWith(pool, ledgerLog(store, companyId), last)
  if (hashes) return hashes
  const reason = size < last.size ? 'truncated' : 'other_root'
  const first_error = { revision: Math.min(size, last.size - 1), reason } as const
  throw new LedgerNotIntact(companyId, { valid: false, checked: 0, revision: -1, hash: GENESIS_HASH, first_error })
}

/**
 * Stored tiles are a cache. If they do not have the signed root, the tree is rebuilt; null if the rebuilt tree does not
 * have it either.
 */
export async function treeWith(
  pool: Database,
  log: TreeLog,
  last: TreeHead,
): Promise<{ hashes: Hashes | null; size: number }> {
  await growTree(pool, log)
  const hashes = await readTreeHashes(pool, log.id, last.size)
  if (hasRoot(hashes, last)) return { hashes, size: last.size }
  await emptyTree(pool, log.id)
  const { size } = await growTree(pool, log)
  const anew = await readTreeHashes(pool, log.id, last.size)
  return { hashes: size >= last.size && hasRoot(anew, last) ? anew : null, size }
}

function hasRoot(hashes: Hashes, { size, root }: TreeHead): boolean {
  try {
    return computeRoot(hashes, size).equals(root)
  } catch (error) {
    if (error instanceof TreeDiffers) return false
    throw error
  }
}

/** The installation log detects checkpoints that are missing everywhere else. @throws CheckpointAltered */
async function assertEntryCovered(
  client: Queryable,
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

/** Checkpoint status of a company, for its owner. Times are UTC. */
export interface SealState {
  /** The newest checkpoint of the ledger. */
  readonly checkpoint: { readonly size: number; readonly made_at: string } | null
  /**
   * The newest checkpoint of the installation log that includes a checkpoint of the company; `covers` is the size of
   * that one.
   */
  readonly installation: { readonly size: number; readonly made_at: string; readonly covers: number } | null
  /** Why the last checkpoint of the ledger, or of the installation, failed. */
  readonly fault: { readonly since: string; readonly reason: string } | null
}

export async function loadSealState(reader: Reader): Promise<SealState> {
  const [checkpoints, installation, faults] = await Promise.all([
    reader.query<Line>({ text: NEWEST }),
    reader.query<{ size: number; made_at: string; covers: number }>({
      text: `select c.size, c.made_at, e.size as covers
       from (select size, made_at from ${t.installation_checkpoints} order by size desc limit 1) c cross join lateral
         (select size from ${t.installation_entries} where company_id = $1 and index < c.size order by index desc limit 1) e`,
    }),
    reader.query<{ since: string; reason: string }>({
      text: `select since, reason from ${t.checkpoint_faults} where company_id in (0, $1) order by company_id desc limit 1`,
    }),
  ])
  const checkpoint = checkpoints.rows[0] ? parseStoredCheckpoint(checkpoints.rows[0]) : null
  return {
    checkpoint: checkpoint && { size: checkpoint.size, made_at: checkpoint.made_at },
    installation: installation.rows[0] ?? null,
    fault: faults.rows[0] ?? null,
  }
}

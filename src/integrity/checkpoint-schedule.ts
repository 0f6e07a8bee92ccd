import type { Pool } from 'pg'
import { companyIdOfStream } from '#ledger/command.ts'
import { closedCompanies } from '#ledger/ledgers.ts'
import { repeat } from '#lib/background-loops.ts'
import { withAdvisoryLock } from '#postgres/transaction.ts'
import { type KnownRing, knownRing, openKeyRing, WrongSealKey } from './checkpoint-keys.ts'
import { lastStoredCheckpoint, ledgerCheckpoints, type SignedCheckpoint } from './checkpoint-log.ts'
import { countGeneration, makeCheckpoint, type Sealing } from './checkpoints.ts'
import { departedCompanies } from './installation.ts'
import { addEntries, makeInstallationCheckpoint, newestInstallationCheckpoint } from './installation-log.ts'
import { checkRoots, type TreeHead } from './merkle.ts'
import { CheckpointAltered, companiesOfFiles } from './note.ts'
import { type Anchor, LedgerNotIntact, type LedgerStores, type SealedHeads } from './verify.ts'

/** For a table with many rows per company: one index lookup for each company. */
const companiesOf = (table: string): string => `
  with recursive each as (
    select min(company_id) as company_id from ops.${table}
    union all
    select (select min(t.company_id) from ops.${table} t where t.company_id > each.company_id) from each
    where each.company_id is not null
  )
  select company_id from each where company_id is not null`

/**
 * Companies known to the read model, the store, the checkpoint folder or the installation log. A ledger missing from
 * some of them is still found.
 */
export async function knownCompanies({ pool, store }: LedgerStores, directory: string | null): Promise<number[]> {
  const { rows } = await pool.query<{ company_id: number }>(
    `select company_id from ledgers where revision >= 0
     union (${companiesOf('ledger_checkpoints')})
     union (${companiesOf('installation_entries')})`,
  )
  const ids = new Set([
    ...rows.map(({ company_id }) => company_id),
    ...(directory === null ? [] : await companiesOfFiles(directory)),
  ])
  for await (const stream of store.streams()) {
    const companyId = companyIdOfStream(stream)
    if (companyId !== null) ids.add(companyId)
  }
  for (const companyId of await departedCompanies(pool)) ids.delete(companyId)
  return [...ids].sort((a, b) => a - b)
}

export interface CheckpointRoundOptions {
  readonly onSealed: (checkpoint: SignedCheckpoint) => void
  readonly onError: (error: unknown) => void
  readonly stopping?: AbortSignal
}

/** Serializes rounds over all processes. */
const ROUND_LOCK = 'tillbook checkpoints'
const INSTALLATION = 0

/**
 * Makes a checkpoint of every ledger that has grown, adds these to the installation log, and makes a checkpoint of that
 * log. A fault in one ledger does not stop the others; it stays recorded until that ledger has a new
 * checkpoint. An interrupted round is completed by the next one. Returns the installation's checkpoint; null while
 * another process runs a round.
 */
export async function runCheckpointRound(
  sealing: Sealing,
  options: CheckpointRoundOptions,
): Promise<SignedCheckpoint | null> {
  const seal = () => noted(sealing, INSTALLATION, () => sealAll(sealing, options))
  try {
    return await withAdvisoryLock(sealing.pool, { key: ROUND_LOCK, ifTaken: () => null }, seal)
  } catch (error) {
    options.onError(error)
    return null
  }
}

async function sealAll(sealing: Sealing, { onSealed, onError, stopping }: CheckpointRoundOptions) {
  await sealing.assertMaySeal()
  await openKeyRing(sealing)
  const made = new Map<number, SignedCheckpoint>()
  const closed = await closedCompanies(sealing.pool)
  for (const companyId of await knownCompanies(sealing, sealing.directory)) {
    if (stopping?.aborted) return null
    if (closed.has(companyId)) continue
    try {
      const checkpoint = await noted(sealing, companyId, () =>
        makeCheckpoint(sealing, companyId, () => stopping?.aborted ?? false),
      )
      if (checkpoint) made.set(companyId, checkpoint)
    } catch (error) {
      onError(error)
    }
  }
  if (stopping?.aborted) return null
  await addEntries(sealing, made)
  const checkpoint = await makeInstallationCheckpoint(sealing)
  await sealing.pool.query(
    `insert into ops.checkpoint_runs (ended_at) values ($1) on conflict (only_row) do update set ended_at = excluded.ended_at`,
    [sealing.now()],
  )
  if (checkpoint) onSealed(checkpoint)
  return checkpoint
}

/** Runs `work` and records its success or failure. */
async function noted<T>({ pool, now }: Sealing, companyId: number, work: () => Promise<T>): Promise<T> {
  try {
    const done = await work()
    await pool.query('delete from ops.checkpoint_faults where company_id = $1', [companyId])
    return done
  } catch (error) {
    await pool.query(
      `insert into ops.checkpoint_faults (company_id, since, reason) values ($1, $2, $3)
       on conflict (company_id) do update set reason = excluded.reason`,
      [companyId, now(), reasonOf(error)],
    )
    throw error
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof LedgerNotIntact) return error.verification.first_error?.reason ?? 'failed'
  if (error instanceof CheckpointAltered) return 'seal_altered'
  return error instanceof WrongSealKey ? 'wrong_key' : 'failed'
}

const HOUR_MS = 3_600_000

/**
 * Runs a round at once, unless another process has just done so, and then at the interval in hours. Without an interval
 * it never runs.
 */
export function scheduleCheckpoints(
  sealing: Sealing,
  everyHours: number | undefined,
  options: Omit<CheckpointRoundOptions, 'stopping'>,
): { stop(): Promise<void> } {
  if (everyHours === undefined) return { stop: async () => {} }
  const every_ms = everyHours * HOUR_MS
  const work = async (stopping: AbortSignal) => {
    const newest = await newestInstallationCheckpoint(sealing.pool)
    const since_ms = Date.parse(sealing.now()) - Date.parse(newest?.made_at ?? '1970-01-01T00:00:00Z')
    if (since_ms < 0 || since_ms >= every_ms / 2) await runCheckpointRound(sealing, { ...options, stopping })
  }
  return repeat(work, every_ms, options.onError)
}

/** Metrics of checkpoints. Ages in seconds; null before the first. */
export interface CheckpointFigures {
  /** Since the last round. */
  readonly roundAge: number | null
  /** Of the newest checkpoint of the installation log. */
  readonly sealAge: number | null
  /** Number of logs (companies and the installation) with a failed last checkpoint. */
  readonly faults: number
}

export async function checkpointFigures(pool: Pool, now: string): Promise<CheckpointFigures> {
  const { rows } = await pool.query<{ ended_at: string | null; made_at: string | null; faults: number }>(
    `select (select ended_at from ops.checkpoint_runs),
            (select made_at from ops.installation_checkpoints order by size desc limit 1),
            (select count(*) from ops.checkpoint_faults) as faults`,
  )
  const { ended_at = null, made_at = null, faults = 0 } = rows[0] ?? {}
  const ageOf = (then: string | null) => (then === null ? null : (Date.parse(now) - Date.parse(then)) / 1000)
  return { roundAge: ageOf(ended_at), sealAge: ageOf(made_at), faults }
}

/** Anchors and tree heads that a ledger must match. */
export interface OwnCheckpoints {
  readonly anchors: readonly Anchor[]
  readonly heads: readonly TreeHead[]
}

/**
 * The service's own signatures for a ledger: its last checkpoint, or the statement of the restore that started its log.
 * @throws CheckpointAltered
 */
export async function readOwnCheckpoints(
  { pool, directory }: Pick<Sealing, 'pool' | 'directory'>,
  ring: KnownRing,
  companyId: number,
): Promise<OwnCheckpoints> {
  const generation = await countGeneration(pool, directory, companyId)
  const { last } = await lastStoredCheckpoint(
    pool,
    ledgerCheckpoints(ring, directory, companyId, generation.number),
    ring,
  )
  return last ? { anchors: [], heads: [last] } : { anchors: generation.anchors(ring), heads: [] }
}

/**
 * For verifications on request. An altered checkpoint is reported as a fault, because the sealed state is then unknown.
 */
export async function loadOwnCheckpoints(sealing: Sealing | null, companyId: number): Promise<SealedHeads> {
  if (!sealing) return { anchors: [], watch: checkRoots([]) }
  try {
    const { anchors, heads } = await readOwnCheckpoints(sealing, await knownRing(sealing), companyId)
    return { anchors, watch: checkRoots(heads) }
  } catch (error) {
    if (!(error instanceof CheckpointAltered || error instanceof WrongSealKey)) throw error
    return { anchors: [], watch: { ...checkRoots([]), see: () => 'seal_altered' } }
  }
}

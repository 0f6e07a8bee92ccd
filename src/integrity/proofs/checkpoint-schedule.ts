import type { Pool } from 'pg'
import { repeat } from '#background/repeat.ts'
import { LedgerNotIntact } from '#integrity/audit/verify.ts'
import { closedCompanies } from '#ledger/ledgers.ts'
import { withAdvisoryLock } from '#postgres/advisory-lock.ts'
import { CheckpointAltered } from './checkpoint-files.ts'
import type { SignedCheckpoint } from './checkpoint-log.ts'
import { makeCheckpoint, type Sealing } from './checkpoints.ts'
import { addEntries, makeInstallationCheckpoint, newestInstallationCheckpoint } from './installation-log.ts'
import { openKeyRing, WrongSealKey } from './key-ring.ts'
import { knownCompanies } from './known-companies.ts'

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
 * log (PROOF-29). A fault in one ledger does not stop the others; it stays recorded until that ledger has a new
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
    `insert into ops.sealing_rounds (ended_at) values ($1) on conflict (only_row) do update set ended_at = excluded.ended_at`,
    [sealing.now()],
  )
  if (checkpoint) onSealed(checkpoint)
  return checkpoint
}

/** Runs `work` and records its success or failure. */
async function noted<T>({ pool, now }: Sealing, companyId: number, work: () => Promise<T>): Promise<T> {
  try {
    const done = await work()
    await pool.query('delete from ops.sealing_faults where company_id = $1', [companyId])
    return done
  } catch (error) {
    await pool.query(
      `insert into ops.sealing_faults (company_id, since, reason) values ($1, $2, $3)
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
    `select (select ended_at from ops.sealing_rounds),
            (select made_at from ops.installation_checkpoints order by size desc limit 1),
            (select count(*) from ops.sealing_faults) as faults`,
  )
  const { ended_at = null, made_at = null, faults = 0 } = rows[0] ?? {}
  const ageOf = (then: string | null) => (then === null ? null : (Date.parse(now) - Date.parse(then)) / 1000)
  return { roundAge: ageOf(ended_at), sealAge: ageOf(made_at), faults }
}

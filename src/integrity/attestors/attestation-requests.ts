import { repeat } from '#background/repeat.ts'
import { installationOriginOf } from '../proofs/checkpoint.ts'
import { CheckpointAltered } from '../proofs/checkpoint-files.ts'
import { type Line, parseStoredCheckpoint, type SignedCheckpoint } from '../proofs/checkpoint-log.ts'
import type { Sealing } from '../proofs/checkpoints.ts'
import { knownRing, verifierKeysOf } from '../proofs/key-ring.ts'
import { openNote } from '../proofs/note.ts'
import { type Attestor, AttestorFailed } from './attestor.ts'
import { keepToken } from './tokens.ts'

interface AskingOptions {
  readonly onToken: (attestor: Attestor, checkpoint: SignedCheckpoint) => void
  readonly onError: (attestor: Attestor, error: unknown) => void
  /** Interval between polls for missing tokens, in ms. */
  readonly every_ms?: number
}

/** Requests missing time stamps and cosignatures from the configured attestors. */
export interface AttestationRequests {
  /** Polls at once, for example after a new checkpoint. */
  now(): void
  /** Aborts requests in progress. */
  stop(): Promise<void>
}

const EVERY_MS = 30_000
/** Longer than the timeout of an attestor. After a crash another process takes over when the lease ends. */
const LEASE_SECONDS = 120
/** Pause after the first failure; doubles with each further one. */
const AGAIN_SECONDS = 60
const AGAIN_AT_MOST_SECONDS = 3_600
const DETAIL_CHARS = 500

/**
 * Requests missing tokens from each attestor independently: for the newest checkpoint, or for each in turn. A lease
 * allows one process per attestor, and failures back off exponentially (PROOF-67). Sales and checkpoints never wait for
 * it.
 */
export function requestAttestations(
  sealing: Sealing,
  attestors: readonly Attestor[],
  { onToken, onError, every_ms = EVERY_MS }: AskingOptions,
): AttestationRequests {
  const repetitions = attestors.map((attestor) =>
    repeat(
      async (signal) => {
        while (!signal.aborted && (await askOnce(sealing, attestor, { signal, onToken, onError })));
      },
      every_ms,
      (error) => onError(attestor, error),
    ),
  )
  return {
    now() {
      for (const each of repetitions) each.now()
    },
    async stop() {
      await Promise.all(repetitions.map((each) => each.stop()))
    },
  }
}

interface OnceOptions extends Pick<AskingOptions, 'onToken' | 'onError'> {
  readonly signal: AbortSignal
}

/** Requests one token. @returns whether another one may be missing. */
async function askOnce(sealing: Sealing, attestor: Attestor, options: OnceOptions): Promise<boolean> {
  const { pool } = sealing
  const { signal, onToken, onError } = options
  if (!(await nextMissing(sealing, attestor))) return false
  await sealing.assertMaySeal()
  if (!(await claim(sealing, attestor))) return false
  try {
    // Another process may have stored the token before the lease.
    const missing = await nextMissing(sealing, attestor)
    if (!missing) {
      await release(sealing, attestor)
      return false
    }
    const checkpoint = await genuine(sealing, missing.line)
    const token = await attestor.ask(checkpoint, { last: missing.last, signal })
    await keepToken(sealing, attestor, checkpoint, token)
    await pool.query(
      `update ops.attestors set failures = 0, failing_since = null, told_at = null, problem = null, detail = null,
         due_at = clock_timestamp() where source = $1`,
      [attestor.source],
    )
    onToken(attestor, checkpoint)
    return attestor.takesEach
  } catch (error) {
    if (signal.aborted) await release(sealing, attestor)
    else {
      await noteFailure(sealing, attestor, error)
      onError(attestor, error)
    }
    return false
  }
}

interface Missing {
  /** Size of the newest checkpoint with a token; 0 before the first. */
  readonly last: number
  readonly line: Line
}

/** Finds the checkpoint after the last one with a token: the next in order if each needs a token, else the newest. */
async function nextMissing({ pool }: Sealing, { source, takesEach }: Attestor): Promise<Missing | null> {
  const { rows } = await pool.query<Line & { last: number }>(
    `select c.note, c.made_at, t.last
     from (select coalesce(max(size), 0) as last from ops.checkpoint_tokens where source = $1) t
     cross join lateral (select note, made_at from ops.installation_checkpoints where size > t.last
       order by size ${takesEach ? 'asc' : 'desc'} limit 1) c`,
    [source],
  )
  const [row] = rows
  return row ? { last: row.last, line: { note: row.note, made_at: row.made_at } } : null
}

/** Takes the lease of an attestor; false if another process holds it or a backoff is running. */
async function claim({ pool }: Sealing, { source, kind }: Attestor): Promise<boolean> {
  const { rowCount } = await pool.query(
    `insert into ops.attestors as o (source, kind, tried_at, due_at)
       values ($1, $3, clock_timestamp(), clock_timestamp() + make_interval(secs => $2))
     on conflict (source) do update set tried_at = excluded.tried_at, due_at = excluded.due_at
       where o.due_at <= clock_timestamp()`,
    [source, LEASE_SECONDS, kind],
  )
  return rowCount === 1
}

const release = ({ pool }: Sealing, { source }: Attestor) =>
  pool.query('update ops.attestors set due_at = clock_timestamp() where source = $1', [source])

async function noteFailure({ pool }: Sealing, { source }: Attestor, error: unknown): Promise<void> {
  const problem = error instanceof AttestorFailed ? error.problem : 'failed'
  const detail = (error instanceof Error ? error.message : String(error)).slice(0, DETAIL_CHARS)
  await pool.query(
    `update ops.attestors set failures = failures + 1, failing_since = coalesce(failing_since, clock_timestamp()), problem = $2, detail = $3,
       due_at = clock_timestamp() + make_interval(secs => least($4 * 2 ^ least(failures, 10), $5))
     where source = $1`,
    [source, problem, detail, AGAIN_SECONDS, AGAIN_AT_MOST_SECONDS],
  )
}

/** Verifies our own signature before a request, so that a forged row is never attested. @throws CheckpointAltered */
async function genuine(sealing: Sealing, line: Line): Promise<SignedCheckpoint> {
  const ring = await knownRing(sealing)
  const checkpoint = parseStoredCheckpoint(line)
  const origin = installationOriginOf(ring)
  if (checkpoint.origin !== origin || openNote(line.note, verifierKeysOf(ring, origin)) === null)
    throw new CheckpointAltered(`the checkpoint of ${checkpoint.size} entries is not one that a known key has signed`)
  return checkpoint
}

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { repeat } from '#lib/background-loops.ts'
import { writeFileAtomically } from '#lib/files.ts'
import type { Queryable } from '#postgres/database.ts'
import {
  type AttestationProblem,
  type AttestationRequest,
  type Attestor,
  AttestorFailed,
  type NamedAttestor,
  type TokenKind,
} from './attestors.ts'
import { knownRing, toVerifierKeys } from './checkpoint-keys.ts'
import { type Line, parseStoredCheckpoint, type SignedCheckpoint } from './checkpoint-log.ts'
import type { Sealing } from './checkpoints.ts'
import { CheckpointAltered, formatCheckpoint, installationOrigin, openNote, parseSignatureLine } from './note.ts'

/** Token of an attestor for a checkpoint of the installation log. */
export interface AttestationToken {
  /** Size of the checkpoint. */
  readonly size: number
  readonly source: string
  readonly kind: TokenKind
  readonly token: Buffer
  /** UTC. */
  readonly obtained_at: string
}

/** Directory of token files, beside the checkpoints. */
export const tokenDirectory = (directory: string): string => join(directory, 'tokens')

const SIZE_DIGITS = 16
const NAME_CHARS = 80

/**
 * Stores a token: first as files for auditors' tools, then in the database. A cosignature's file is the whole note with
 * both signatures; a time stamp's is its DER, with the stamped text in a second file for `openssl ts -verify -data`.
 */
async function keepToken(
  { pool, directory }: { readonly pool: Pool; readonly directory: string },
  { source, kind }: Pick<Attestor, 'source' | 'kind'>,
  checkpoint: AttestationRequest,
  token: Buffer,
): Promise<void> {
  const folder = tokenDirectory(directory)
  const size = String(checkpoint.size).padStart(SIZE_DIGITS, '0')
  const path = join(folder, `${size}-${source.replace(/[^A-Za-z0-9.-]+/g, '_').slice(-NAME_CHARS)}`)
  if (kind !== 'copy') await mkdir(folder, { recursive: true })
  if (kind === 'cosignature') await writeFileAtomically(`${path}.cosigned`, `${checkpoint.note}${token}`)
  if (kind === 'time_stamp') {
    await writeFileAtomically(join(folder, `${size}.text`), formatCheckpoint(checkpoint))
    await writeFileAtomically(`${path}.tsr`, token)
  }
  await pool.query(
    `insert into ops.checkpoint_tokens (size, source, kind, token) values ($1, $2, $3, $4) on conflict do nothing`,
    [checkpoint.size, source, kind, token],
  )
}

/** All tokens of a checkpoint. */
export async function loadTokens(pool: Queryable, size: number): Promise<AttestationToken[]> {
  const { rows } = await pool.query<AttestationToken>(
    'select size, source, kind, token, obtained_at from ops.checkpoint_tokens where size = $1 order by source',
    [size],
  )
  return rows
}

/**
 * A checkpoint's note with all available cosignatures after the log's own signatures. They are not verified here;
 * clients verify the note.
 */
export async function findCosigned(
  pool: Queryable,
  { size, note }: Pick<AttestationRequest, 'size' | 'note'>,
): Promise<string> {
  const { rows } = await pool.query<{ token: Buffer }>(
    `select token from ops.checkpoint_tokens where size = $1 and kind = 'cosignature' order by source`,
    [size],
  )
  const lines = rows.map(({ token }) => token.toString())
  return note + lines.filter((line) => line.endsWith('\n') && parseSignatureLine(line.slice(0, -1))).join('')
}

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
 * allows one process per attestor, and failures back off exponentially. Sales and checkpoints never wait for
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
      `update ops.attestors set failures = 0, failing_since = null, emailed_at = null, problem = null, detail = null,
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
  const origin = installationOrigin(ring)
  if (checkpoint.origin !== origin || openNote(line.note, toVerifierKeys(ring, origin)) === null)
    throw new CheckpointAltered(`the checkpoint of ${checkpoint.size} entries is not one that a known key has signed`)
  return checkpoint
}

/** Status of an attestor for the panel and metrics. Times are UTC. */
export interface AttestationStatus extends NamedAttestor {
  /** Size and time of the newest checkpoint with a token; null before the first. */
  readonly size: number | null
  readonly obtained_at: string | null
  /** Seconds since that token. */
  readonly age: number | null
  /** Checkpoints since that token, and the age of the oldest of them in seconds; 0 if there is none. */
  readonly waiting: number
  readonly waiting_seconds: number
  /** Last attempt, consecutive failures, and the last problem; null if the last attempt succeeded. */
  readonly tried_at: string | null
  readonly failures: number
  /** Time of the first of these failures; null without one. */
  readonly failing_since: string | null
  readonly problem: AttestationProblem | 'failed' | null
  readonly detail: string | null
}

/** Notes which attestors the service has, for processes without its settings. */
export async function noteAttestors(pool: Queryable, attestors: readonly NamedAttestor[]): Promise<void> {
  await pool.query(
    `with gone as (delete from ops.attestors where source <> all($1::text[]))
     insert into ops.attestors as o (source, kind, host) select * from unnest($1::text[], $2::text[], $3::text[])
     on conflict (source) do update set kind = excluded.kind, host = excluded.host
       where (o.kind, o.host) is distinct from (excluded.kind, excluded.host)`,
    columnsOf(attestors),
  )
}

const columnsOf = (attestors: readonly NamedAttestor[]): unknown[] => [
  attestors.map(({ source }) => source),
  attestors.map(({ kind }) => kind),
  attestors.map(({ host }) => host),
]

/** Status of the attestors, in configured order; without settings of those that the service has, by kind. */
export async function attestationStatuses(
  pool: Queryable,
  attestors: readonly NamedAttestor[],
): Promise<AttestationStatus[]> {
  const { rows } = await pool.query<AttestationStatus>({
    name: 'read_attestor_states',
    text: `with named as (
             select * from unnest($1::text[], $2::text[], $3::text[]) with ordinality as n(source, kind, host, place)
             union all
             select source, kind, host, row_number() over (order by kind, source) from ops.attestors where cardinality($1::text[]) = 0
           )
           select s.source, s.kind, s.host, t.size, t.obtained_at,
             extract(epoch from clock_timestamp() - t.obtained_at)::float8 as age, w.waiting, w.waiting_seconds,
             o.tried_at, coalesce(o.failures, 0) as failures, o.failing_since, o.problem, o.detail
           from named s
           left join ops.attestors o on o.source = s.source
           left join lateral (select size, obtained_at from ops.checkpoint_tokens
             where source = s.source order by size desc limit 1) t on true
           cross join lateral (select count(*)::int as waiting,
               coalesce(greatest(0, extract(epoch from clock_timestamp() - min(made_at))), 0)::float8 as waiting_seconds
             from ops.installation_checkpoints where size > coalesce(t.size, 0)) w
           order by s.place`,
    values: columnsOf(attestors),
  })
  return rows
}

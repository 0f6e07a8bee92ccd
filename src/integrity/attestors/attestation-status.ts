import type { Pool } from 'pg'
import type { AttestationProblem, Attestor } from './attestor.ts'

/** Status of an attestor for the panel and metrics. Times are UTC. */
export interface AttestationStatus extends Pick<Attestor, 'source' | 'kind'> {
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
  readonly problem: AttestationProblem | 'failed' | null
  readonly detail: string | null
}

/** Status of the attestors, in configured order (PROOF-68). */
export async function attestationStatuses(
  pool: Pick<Pool, 'query'>,
  attestors: readonly Pick<Attestor, 'source' | 'kind'>[],
): Promise<AttestationStatus[]> {
  const { rows } = await pool.query<AttestationStatus>({
    name: 'read_attestor_states',
    text: `select s.source, s.kind, t.size, t.obtained_at,
             extract(epoch from clock_timestamp() - t.obtained_at)::float8 as age, w.waiting, w.waiting_seconds,
             o.tried_at, coalesce(o.failures, 0) as failures, o.problem, o.detail
           from unnest($1::text[], $2::text[]) with ordinality as s(source, kind, place)
           left join ops.attestors o on o.source = s.source
           left join lateral (select size, obtained_at from ops.checkpoint_tokens
             where source = s.source order by size desc limit 1) t on true
           cross join lateral (select count(*)::int as waiting,
               coalesce(greatest(0, extract(epoch from clock_timestamp() - min(made_at))), 0)::float8 as waiting_seconds
             from ops.installation_checkpoints where size > coalesce(t.size, 0)) w
           order by s.place`,
    values: [attestors.map(({ source }) => source), attestors.map(({ kind }) => kind)],
  })
  return rows
}

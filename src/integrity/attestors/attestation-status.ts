import type { Queryable } from '#postgres/database.ts'
import type { AttestationProblem, NamedAttestor } from './attestor.ts'

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

import type { RefusedMovementRow } from '#projections/cash-drawers.ts'
import type { Reader } from './reader.ts'
import { t } from './table-names.ts'

/** A movement of a till that a person has to decide about, or has. */
export type RefusedMovement = Pick<
  RefusedMovementRow,
  'offline_id' | 'revision' | 'state' | 'uploaded_at' | 'sent' | 'note'
> & {
  /** Who uploaded it. */
  readonly user_name: string | null
  /** Who opened the session, or moved it first. */
  readonly owner_name: string | null
}

const SELECT = `select t.offline_id, t.revision, t.state, t.uploaded_at, t.sent, t.note, u.doc ->> 'name' as user_name,
    o.doc ->> 'name' as owner_name
  from ${t.refused_movements} t
  left join ${t.users} u on u.company_id = t.company_id and u.id = t.user_id
  left join ${t.cash_sessions} s on s.company_id = t.company_id and s.session_id = t.sent ->> 'session_id'
  left join ${t.users} o on o.company_id = t.company_id and o.id = s.owner
  where t.company_id = $1`

/** Oldest first, up to `limit`. */
export async function listRefusedMovements(reader: Reader, limit: number): Promise<RefusedMovement[]> {
  const { rows } = await reader.query<RefusedMovement>({
    name: 'refused_movements',
    text: `${SELECT} and t.state = 'refused' order by t.revision limit $2`,
    values: [limit],
  })
  return rows
}

/** Number of those that a person has to decide about. */
export async function countOpenMovements(reader: Reader): Promise<number> {
  const { rows } = await reader.query<{ total: number }>({
    name: 'count_refused_movements',
    text: `select count(*)::integer as total from ${t.refused_movements} where company_id = $1 and state = 'refused'`,
  })
  return rows[0]?.total ?? 0
}

/** `revision`: of the refusal. */
export async function getRefusedMovement(reader: Reader, revision: number): Promise<RefusedMovement | null> {
  const { rows } = await reader.query<RefusedMovement>({
    name: 'refused_movement',
    text: `${SELECT} and t.revision = $2`,
    values: [revision],
  })
  return rows[0] ?? null
}

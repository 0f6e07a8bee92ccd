import { type OfflineReturnRow, WAITING_DAYS } from '#projections/returns.ts'
import type { Reader } from '../reader.ts'
import { t } from '../table-names.ts'

/** A return of a till that a person has to decide about. */
export type RefusedReturn = Pick<
  OfflineReturnRow,
  'return_id' | 'offline_id' | 'state' | 'refusal' | 'uploaded_at' | 'note' | 'settled_at'
> & {
  readonly sent: NonNullable<OfflineReturnRow['sent']>
  /** Who uploaded it. */
  readonly user_name: string | null
  /** Whether a person has to decide yet. */
  readonly is_open: boolean
}

/** Refused ones, and those whose sale has not come in time. $2: now */
const OPEN = `(t.state = 'refused' or (t.state = 'waiting' and t.uploaded_at < $2::timestamptz - interval '${WAITING_DAYS} days'))`

const COLUMNS = `t.return_id, t.offline_id, t.state, t.uploaded_at, t.sent, t.note, t.settled_at,
  coalesce(t.refusal, 'expired') as refusal, ${OPEN} as is_open, u.doc ->> 'name' as user_name`

const FROM = `${t.offline_returns} t left join ${t.users} u on u.company_id = t.company_id and u.id = t.user_id`

/** Oldest first, up to `limit`. `now`: UTC */
export async function listRefusedReturns(
  reader: Reader,
  { now, limit }: { readonly now: string; readonly limit: number },
): Promise<RefusedReturn[]> {
  const { rows } = await reader.query<RefusedReturn>({
    name: 'refused_returns',
    text: `select ${COLUMNS} from ${FROM} where t.company_id = $1 and t.state in ('waiting', 'refused') and ${OPEN}
           order by t.return_id limit $3`,
    values: [now, limit],
  })
  return rows
}

/** Also one that a person has decided about; null if no such return was ever refused. */
export async function getRefusedReturn(reader: Reader, id: number, now: string): Promise<RefusedReturn | null> {
  const { rows } = await reader.query<RefusedReturn>({
    name: 'refused_return',
    text: `select ${COLUMNS} from ${FROM}
           where t.company_id = $1 and t.return_id = $3 and t.sent is not null and (${OPEN} or t.settled_at is not null)`,
    values: [now, id],
  })
  return rows[0] ?? null
}

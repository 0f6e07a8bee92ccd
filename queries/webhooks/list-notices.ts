import type { Pool } from 'pg'

/** What the users of a company were told. */
export interface ListedNotice {
  readonly kind: 'webhook_switched_off'
  readonly data: { readonly webhook_id: number; readonly url: string; readonly reason: 'no_response' | 'gone' }
  readonly created_at: string
}

const SHOWN_DAYS = 30
const SHOWN = 20

/** The notices of the last 30 days, the newest first. */
export async function listNotices(pool: Pool, companyId: number): Promise<ListedNotice[]> {
  const { rows } = await pool.query<ListedNotice>({
    name: 'list_notices',
    text: `select kind, data, created_at from notices
           where company_id = $1 and created_at > now() - make_interval(days => $2)
           order by created_at desc limit $3`,
    values: [companyId, SHOWN_DAYS, SHOWN],
  })
  return rows
}

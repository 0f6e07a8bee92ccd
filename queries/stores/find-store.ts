import type { Pool } from 'pg'

/** What is needed of a store to talk with the payment provider. Secrets: never to be logged, answered or put in an event. */
export interface StoreAccess {
  readonly companyId: number
  readonly id: number
  readonly alias: string
  readonly enabled: boolean
  readonly sandbox: boolean
  readonly accessToken: string | null
  readonly notificationSecret: string | null
}

/** The store with an alias, whosever it is; null when there is none. */
export async function findStore(pool: Pool, alias: string): Promise<StoreAccess | null> {
  const { rows } = await pool.query<StoreAccess>({
    name: 'find_store',
    text: `select k.company_id as "companyId", t.id, t.alias, t.enabled, (t.doc->>'sandbox')::boolean as sandbox,
                  k.access_token as "accessToken", k.notification_secret as "notificationSecret"
           from store_secrets k join stores t on t.company_id = k.company_id and t.id = k.store_id
           where k.alias = $1`,
    values: [alias],
  })
  return rows[0] ?? null
}

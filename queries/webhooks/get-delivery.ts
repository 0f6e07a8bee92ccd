import type { Pool } from 'pg'
import type { Found } from '../get.ts'
import { DELIVERY_JSON, presentDelivery } from './list-deliveries.ts'

/** One delivery of an address. */
export async function getDelivery(pool: Pool, companyId: number, webhookId: number, id: string): Promise<Found> {
  const { rows } = await pool.query<{ revision: number; timezone: string; record: object | null }>({
    name: 'get_webhook_delivery',
    text: `select l.revision, c.timezone,
                  (select ${DELIVERY_JSON} from webhook_deliveries t
                   join webhooks w on w.company_id = t.company_id and w.id = t.webhook_id and w.deleted_at is null
                   where t.company_id = $1 and t.webhook_id = $2 and t.id = $3) as record
           from ledgers l join companies c on c.company_id = l.company_id
           where l.company_id = $1`,
    values: [companyId, webhookId, id],
  })
  const [found] = rows
  if (!found) throw new Error(`company ${companyId} has no ledger`)
  const { record, revision, timezone } = found
  return { record: record && JSON.stringify(presentDelivery(record, timezone)), revision }
}

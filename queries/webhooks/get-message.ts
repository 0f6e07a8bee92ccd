import type { Pool } from 'pg'

/** The body that a delivery sends, as it is signed; null when the message is kept no longer. */
export async function getMessage(pool: Pool, companyId: number, deliveryId: string): Promise<string | null> {
  const { rows } = await pool.query<{ body: string }>({
    name: 'get_webhook_message',
    text: `select m.body
           from webhook_deliveries d join webhook_messages m on m.company_id = d.company_id and m.id = d.message_id
           where d.company_id = $1 and d.id = $2`,
    values: [companyId, deliveryId],
  })
  return rows[0]?.body ?? null
}

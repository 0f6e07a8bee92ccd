import type { Pool } from 'pg'
import { deleteInBatches } from '#postgres/purge.ts'

/** How long deliveries that are over, and messages, are kept: so far back a redelivery or a replay can reach. */
const RETENTION_DAYS = 30

/** Deletes deliveries past their retention, then messages that no delivery needs any more. Returns how many rows. */
export async function purgeDeliveries(pool: Pool): Promise<number> {
  const deliveries = await deleteInBatches(
    pool,
    `delete from webhook_deliveries where (company_id, id) in (
       select company_id, id from webhook_deliveries
       where created_at < now() - make_interval(days => $1) and status <> 'pending'
       limit $2 for update skip locked)`,
    [RETENTION_DAYS],
  )
  const messages = await deleteInBatches(
    pool,
    `delete from webhook_messages where (company_id, id) in (
       select company_id, id from webhook_messages m
       where created_at < now() - make_interval(days => $1)
         and not exists (select from webhook_deliveries d where d.company_id = m.company_id and d.message_id = m.id)
       limit $2 for update skip locked)`,
    [RETENTION_DAYS],
  )
  return deliveries + messages
}

import type { Pool } from 'pg'
import type { NotificationOutcome } from '#domain/orders.ts'
import { deleteInBatches } from '#postgres/purge.ts'

/** A notification as it arrives. */
interface Arrival {
  /** Store and order as the address names them, which may be anything. */
  readonly storePath: string
  readonly orderPath: string
  /** The id that it names; null when it is none. */
  readonly orderId: number | null
  readonly requestId: string
  /** JSON text; null when the body was not read. */
  readonly payload: string | null
}

/** How it was answered. */
export interface Conclusion {
  readonly response: string
  readonly httpStatus: number
  readonly durationMs: number
  readonly outcome: NotificationOutcome
}

const MAX_PATH_LENGTH = 200

const RECORD = {
  name: 'record_notification',
  text: `insert into payment_notifications (store_alias, order_path, request_id, payload, company_id, order_id)
         select $1, $2, $3, $4, o.company_id, o.id
         from (values ($1)) as named(alias)
         left join store_secrets k on k.alias = named.alias
         left join orders o on o.company_id = k.company_id and o.store_id = k.store_id and o.id = $5::bigint
         returning id`,
}

const CONCLUDE = {
  name: 'conclude_notification',
  text: `update payment_notifications set response = $2, http_status = $3, duration_ms = $4, outcome = $5 where id = $1`,
}

/** Keeps a notification before anything is made of it, under the order that it names if that order is the store's. Returns its id. */
export async function recordArrival(pool: Pool, arrival: Arrival): Promise<number> {
  const { storePath, orderPath, requestId, payload, orderId } = arrival
  const named = [storePath, orderPath].map(storable)
  const { rows } = await pool.query<{ id: number }>({ ...RECORD, values: [...named, requestId, payload, orderId] })
  return (rows[0] as { id: number }).id
}

/** Adds how it was answered. */
export async function recordConclusion(pool: Pool, id: number, conclusion: Conclusion): Promise<void> {
  const { response, httpStatus, durationMs, outcome } = conclusion
  await pool.query({ ...CONCLUDE, values: [id, response, httpStatus, durationMs, outcome] })
}

/** Path segments come from anybody: Postgres keeps no U+0000, and nobody needs more of them. */
const storable = (segment: string): string => segment.replaceAll('\0', '\u{FFFD}').slice(0, MAX_PATH_LENGTH)

/** How long notifications are kept: those of orders for claims and charge-backs, those of nobody's order to see an attack. */
const ORDERS_KEPT_DAYS = 400
const NOBODYS_KEPT_DAYS = 30

const deleteOlder = (condition: string) => `
  delete from payment_notifications where id in (
    select id from payment_notifications
    where received_at < now() - make_interval(days => $1) and ${condition}
    limit $2 for update skip locked)`

const PURGE_ORDERS = deleteOlder('true')
const PURGE_NOBODYS = deleteOlder('order_id is null')

/** Deletes notifications past their retention. Returns how many. */
export async function purgeNotifications(pool: Pool): Promise<number> {
  const ofNobody = await deleteInBatches(pool, PURGE_NOBODYS, [NOBODYS_KEPT_DAYS])
  return ofNobody + (await deleteInBatches(pool, PURGE_ORDERS, [ORDERS_KEPT_DAYS]))
}

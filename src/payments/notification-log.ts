import type { Pool } from 'pg'
import type { NotificationOutcome } from '#domain/orders.ts'
import { notInMove } from '#postgres/in-move.ts'
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
  /** Whether it comes from the provider for certain. */
  readonly isSigned: boolean
  /** Whether it is one too many of its address: then it is kept only where it is about somebody's order. */
  readonly isLimited: boolean
}

/** Where a notification is kept, to have its answer added. */
export interface Kept {
  readonly of: 'order' | 'nobody'
  readonly id: number
}

/** How it was answered. */
export interface Conclusion {
  readonly response: string
  readonly httpStatus: number
  readonly durationMs: number
  readonly outcome: NotificationOutcome
}

const MAX_PATH_LENGTH = 200

/**
 * Bytes that are kept in an hour for each store, of those that are signed and of the others apart, so that no stranger takes the
 * room of the provider; beyond it notifications are counted (RCV-31).
 */
const KEPT_BYTES_PER_HOUR = 8 * 1_048_576
/** What a notification takes beside its payload, its answer above all. */
const ROW_BYTES = 1_024

/** Notifications about nobody's order that are kept: the newest ones, of a kilobyte each at most (RCV-30). */
const STRANGERS_KEPT = 50_000
const STRANGERS_PAYLOAD_BYTES = 700
const STRANGERS_PATH_LENGTH = 64

const RECORD = {
  name: 'record_notification',
  text: `with named as materialized (
           select o.company_id, o.store_id, o.id as order_id
           from stores s join orders o on o.company_id = s.company_id and o.store_id = s.id and o.id = $5::bigint
           where s.alias = $1
         ), hour as (
           insert into payment_notification_hours as h (company_id, store_id, hour, is_signed, kept, kept_bytes, counted, fitted)
           select company_id, store_id, date_trunc('hour', clock_timestamp()), $6::boolean, 1, $7::bigint, 0, true from named
           on conflict (company_id, store_id, hour, is_signed) do update set (kept, kept_bytes, counted, fitted) = (
             select h.kept + fits::int, h.kept_bytes + case when fits then $7::bigint else 0 end, h.counted + (not fits)::int, fits
             from (select h.kept_bytes + $7::bigint <= $8::bigint as fits) as decided)
           returning fitted
         ), kept as (
           insert into payment_notifications (store_alias, order_path, request_id, payload, company_id, order_id)
           select $1, $2, $3, $4, n.company_id, n.order_id from named n cross join hour where hour.fitted
           returning id
         ), strangers as (
           insert into stranger_notifications as s (slot, id, store_alias, order_path, request_id, received_at, payload)
           select next.id % $11::int, next.id, left($1, $9::int), left($2, $9::int), $3, clock_timestamp(), $10
           from (select nextval('ops.stranger_notification_ids') as id where $12::boolean and not exists (select from named)) as next
           on conflict (slot) do update set id = excluded.id, store_alias = excluded.store_alias,
             order_path = excluded.order_path, request_id = excluded.request_id, received_at = excluded.received_at,
             payload = excluded.payload, http_status = null, duration_ms = null, outcome = null
           returning id
         )
         select 'order' as of, id from kept union all select 'nobody', id from strangers`,
}

const CONCLUDE = {
  name: 'conclude_notification',
  text: `update payment_notifications set response = $2, http_status = $3, duration_ms = $4, outcome = $5 where id = $1`,
}

/** By then another one may have taken the slot. */
const CONCLUDE_STRANGERS = {
  name: 'conclude_stranger_notification',
  text: `update stranger_notifications set http_status = $3, duration_ms = $4, outcome = $5 where slot = $1::bigint % $2::int and id = $1`,
}

/**
 * Keeps a notification before anything is made of it: whole, under the order that it names if that order is the store's, else its
 * beginning among those of strangers. Null where it was only counted, or is a stranger's and one too many.
 */
export async function recordArrival(pool: Pool, arrival: Arrival): Promise<Kept | null> {
  const { storePath, orderPath, requestId, payload, orderId, isSigned, isLimited } = arrival
  const bytes = Buffer.byteLength(payload ?? '') + ROW_BYTES
  const { rows } = await pool.query<Kept>({
    ...RECORD,
    values: [
      ...[storePath, orderPath].map(storable),
      requestId,
      payload,
      orderId,
      isSigned,
      bytes,
      KEPT_BYTES_PER_HOUR,
      STRANGERS_PATH_LENGTH,
      payload && beginningOf(payload),
      STRANGERS_KEPT,
      !isLimited,
    ],
  })
  return rows[0] ?? null
}

/** A character that was cut in two becomes U+FFFD. */
const beginningOf = (payload: string): string =>
  Buffer.from(payload).subarray(0, STRANGERS_PAYLOAD_BYTES).toString('utf8')

/** Path segments come from anybody: Postgres keeps no U+0000, and nobody needs more of them. */
const storable = (segment: string): string => segment.replaceAll('\0', '\u{FFFD}').slice(0, MAX_PATH_LENGTH)

/** Adds how it was answered. */
export async function recordConclusion(pool: Pool, { of, id }: Kept, conclusion: Conclusion): Promise<void> {
  const { response, httpStatus, durationMs, outcome } = conclusion
  await pool.query(
    of === 'order'
      ? { ...CONCLUDE, values: [id, response, httpStatus, durationMs, outcome] }
      : { ...CONCLUDE_STRANGERS, values: [id, STRANGERS_KEPT, httpStatus, durationMs, outcome] },
  )
}

/** How many notifications of a store's orders were only counted in the last days. */
export async function countUnkept(pool: Pool, companyId: number, storeId: number): Promise<number> {
  const { rows } = await pool.query<{ counted: number }>({
    name: 'count_unkept_notifications',
    text: `select coalesce(sum(counted), 0)::bigint as counted from payment_notification_hours
           where company_id = $1 and store_id = $2 and hour > now() - make_interval(days => $3)`,
    values: [companyId, storeId, COUNTED_DAYS],
  })
  return rows[0]?.counted ?? 0
}

/** Days of which it is shown how many were only counted. */
export const COUNTED_DAYS = 30

/** How long notifications are kept: those of orders for claims and charge-backs, what was refused and what is nobody's to see an attack. */
const ORDERS_KEPT_DAYS = 400
const REFUSED_KEPT_DAYS = 90
const STRANGERS_KEPT_DAYS = 30

const deleteOlder = (condition: string) => `
  delete from payment_notifications where id in (
    select id from payment_notifications
    where received_at < now() - make_interval(days => $1) and ${condition} and ${notInMove('company_id')}
    limit $2 for update skip locked)`

const PURGE_ORDERS = deleteOlder('true')
const PURGE_REFUSED = deleteOlder(`(outcome = 'refused' or order_id is null)`)

const PURGE_HOURS = `
  delete from payment_notification_hours where (company_id, store_id, hour, is_signed) in (
    select company_id, store_id, hour, is_signed from payment_notification_hours
    where hour < now() - make_interval(days => $1) and ${notInMove('company_id')} limit $2 for update skip locked)`

const PURGE_STRANGERS = `
  delete from stranger_notifications where slot in (
    select slot from stranger_notifications where received_at < now() - make_interval(days => $1) limit $2 for update skip locked)`

/** Deletes notifications past their retention. Returns how many. */
export async function purgeNotifications(pool: Pool): Promise<number> {
  const refused = await deleteInBatches(pool, PURGE_REFUSED, [REFUSED_KEPT_DAYS])
  const ofOrders = await deleteInBatches(pool, PURGE_ORDERS, [ORDERS_KEPT_DAYS])
  const ofStrangers = await deleteInBatches(pool, PURGE_STRANGERS, [STRANGERS_KEPT_DAYS])
  return refused + ofOrders + ofStrangers
}

/** Deletes how many notifications came in hours of which none is kept any more. Returns how many rows. */
export const purgeNotificationHours = (pool: Pool): Promise<number> =>
  deleteInBatches(pool, PURGE_HOURS, [ORDERS_KEPT_DAYS])

import { InvalidWebhookSignatureError, WebhookSignatureValidator } from 'mercadopago'
import type { NotificationOutcome } from '#domain/order-states.ts'
import type { Database } from '#postgres/database.ts'
import type { Reader } from '#queries/reader.ts'
import { t } from '#queries/table-names.ts'

/** Received notification. */
interface Arrival {
  /** Store and order segments of the URL; any text is possible. */
  readonly storePath: string
  readonly orderPath: string
  /** Parsed order id; null if invalid. */
  readonly orderId: number | null
  readonly requestId: string
  /** JSON text; null if the body was not read. */
  readonly payload: string | null
  /** Whether its signature is valid. */
  readonly isSigned: boolean
  /** Whether its IP address exceeded the limit: then it is stored only if its order exists. */
  readonly isLimited: boolean
}

/** Row of a stored notification, to add its response. */
export interface StoredNotification {
  /** Company of its order; null if the order is unknown. */
  readonly company_id: number | null
  readonly id: number
}

/** Response to a notification. */
export interface NotificationOutcomeRecord {
  readonly response: string
  readonly httpStatus: number
  readonly durationMs: number
  readonly outcome: NotificationOutcome
}

const MAX_PATH_LENGTH = 200

/**
 * Bytes stored per store and hour, separately for signed and unsigned notifications, so that unauthenticated clients
 * cannot use up the provider's share. Beyond it notifications are only counted.
 */
const KEPT_BYTES_PER_HOUR = 8 * 1_048_576
/** Bytes of a row besides its payload, mainly the response. */
const ROW_BYTES = 1_024

/** Stored notifications about unknown orders: a ring of the newest ones, at most 1 KB each. */
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
           insert into payment_notification_hours as h (company_id, store_id, hour, is_signed, stored, stored_bytes, not_stored, last_is_stored)
           select company_id, store_id, date_trunc('hour', clock_timestamp()), $6::boolean, 1, $7::bigint, 0, true from named
           on conflict (company_id, store_id, hour, is_signed) do update set (stored, stored_bytes, not_stored, last_is_stored) = (
             select h.stored + fits::int, h.stored_bytes + case when fits then $7::bigint else 0 end, h.not_stored + (not fits)::int, fits
             from (select h.stored_bytes + $7::bigint <= $8::bigint as fits) as decided)
           returning last_is_stored
         ), kept as (
           insert into payment_notifications (store_alias, order_path, request_id, payload, company_id, order_id)
           select $1, $2, $3, $4, n.company_id, n.order_id from named n cross join hour where hour.last_is_stored
           returning company_id, id
         ), strangers as (
           insert into unverified_notifications as s (slot, id, store_alias, order_path, request_id, received_at, payload)
           select next.id % $11::int, next.id, left($1, $9::int), left($2, $9::int), $3, clock_timestamp(), $10
           from (select nextval('ops.unverified_notification_ids') as id where $12::boolean and not exists (select from named)) as next
           on conflict (slot) do update set id = excluded.id, store_alias = excluded.store_alias,
             order_path = excluded.order_path, request_id = excluded.request_id, received_at = excluded.received_at,
             payload = excluded.payload, http_status = null, duration_ms = null, outcome = null
           returning id
         )
         select company_id, id from kept union all select null, id from strangers`,
}

const CONCLUDE = {
  name: 'conclude_notification',
  text: `update payment_notifications set response = $2, http_status = $3, duration_ms = $4, outcome = $5 where id = $1 and company_id = $6`,
}

/** A newer notification may have replaced the slot: then nothing is updated. */
const CONCLUDE_STRANGERS = {
  name: 'conclude_unverified_notification',
  text: `update unverified_notifications set http_status = $3, duration_ms = $4, outcome = $5 where slot = $1::bigint % $2::int and id = $1`,
}

/**
 * Stores a notification before it is processed: whole if it names an order of the store, else its beginning in the ring
 * of unknown ones. Null if it was only counted, or is unknown and over the limit.
 */
export async function recordArrival(pool: Database, arrival: Arrival): Promise<StoredNotification | null> {
  const { storePath, orderPath, requestId, payload, orderId, isSigned, isLimited } = arrival
  const bytes = Buffer.byteLength(payload ?? '') + ROW_BYTES
  const { rows } = await pool.query<StoredNotification>({
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

/** A character cut in two becomes U+FFFD. */
const beginningOf = (payload: string): string =>
  Buffer.from(payload).subarray(0, STRANGERS_PAYLOAD_BYTES).toString('utf8')

/** Path segments are untrusted: Postgres cannot store U+0000, and the length is bounded. */
const storable = (segment: string): string => segment.replaceAll('\0', '\u{FFFD}').slice(0, MAX_PATH_LENGTH)

/** Adds the response. */
export async function recordConclusion(
  pool: Database,
  { company_id, id }: StoredNotification,
  conclusion: NotificationOutcomeRecord,
): Promise<void> {
  const { response, httpStatus, durationMs, outcome } = conclusion
  await pool.query(
    company_id === null
      ? { ...CONCLUDE_STRANGERS, values: [id, STRANGERS_KEPT, httpStatus, durationMs, outcome] }
      : { ...CONCLUDE, values: [id, response, httpStatus, durationMs, outcome, company_id] },
  )
}

/** Number of a store's notifications that were counted but not stored in the last days. */
export async function countUnstored(reader: Reader, storeId: number): Promise<number> {
  const { rows } = await reader.query<{ counted: number }>({
    name: 'count_unkept_notifications',
    text: `select coalesce(sum(not_stored), 0)::bigint as counted from ${t.payment_notification_hours}
           where company_id = $1 and store_id = $2 and hour > now() - make_interval(days => $3)`,
    values: [storeId, COUNTED_DAYS],
  })
  return rows[0]?.counted ?? 0
}

/** Days that the count covers. */
export const COUNTED_DAYS = 30

/** Data that authenticates a notification. */
interface Origin {
  /** `data.id` of the payload: the payment concerned. */
  readonly dataId: string | null
  /** Headers `x-signature` and `x-request-id`, as received. */
  readonly signature: string | undefined
  readonly requestId: string | undefined
}

/**
 * Verifies the signature of a notification with the provider's own validator. It covers data.id, the request id and a
 * time; everything else is untrusted. No time tolerance: the provider repeats for days, and a repetition changes
 * nothing.
 */
export function isSigned({ dataId, signature, requestId }: Origin, secret: string): boolean {
  const base = { xSignature: signature, xRequestId: requestId, secret }
  // The provider signs ids in lower case; the validator takes them as given.
  return [dataId?.toLowerCase(), dataId].some((id) => isValid({ ...base, dataId: id }))
}

function isValid(options: Parameters<typeof WebhookSignatureValidator.validate>[0]): boolean {
  try {
    WebhookSignatureValidator.validate(options)
    return true
  } catch (error) {
    if (error instanceof InvalidWebhookSignatureError) return false
    throw error
  }
}

import { InvalidWebhookSignatureError, WebhookSignatureValidator } from 'mercadopago'
import { v5 as uuidv5 } from 'uuid'
import { cancelOrder } from '#commands/order-commands.ts'
import { RecordPaymentInput, recordPayment, toRecordedState, toReportedState } from '#commands/order-payment-command.ts'
import type { Vault } from '#crypto/vault.ts'
import { fromCents, toCents } from '#domain/money.ts'
import { classifyReport, hasBeenPaid, isPending, type NotificationOutcome, readStatus } from '#domain/order-states.ts'
import { type Refusal, refuse } from '#domain/refusals.ts'
import { isRefusal } from '#ledger/command.ts'
import { type Answer, type Idempotency, lookUpReplay } from '#ledger/write/idempotency.ts'
import { type Actor, asSystem, runCommand } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import type { Database } from '#postgres/database.ts'
import { isPaymentOpen } from '#projections/order-payments.ts'
import type { OrderObject } from '#projections/orders.ts'
import { findStore } from '#queries/company-queries.ts'
import { findPayableOrder } from '#queries/order-queries.ts'
import { fullReader, type Reader } from '#queries/reader.ts'
import { t } from '#queries/table-names.ts'
import { cancellationRequest } from './provider-client.ts'
import {
  type PaymentProvider,
  type ProviderAccount,
  ProviderMisconfigured,
  type ProviderPayment,
  type ProviderRefund,
  ProviderRefused,
  ProviderUnavailable,
} from './provider-port.ts'
import { accountAt } from './store-connections.ts'

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

/** Required properties of an order's payment. */
export interface ExpectedPayment {
  readonly reference: string
  readonly totalCents: number
  /** Whether its store takes test payments only. */
  readonly sandbox: boolean
}

/** Whether a payment of the provider matches the order, its amount, and the store's mode. */
export const matchesOrder = (payment: ProviderPayment, { reference, totalCents, sandbox }: ExpectedPayment): boolean =>
  payment.externalReference === reference && payment.amountCents === totalCents && payment.liveMode === !sandbox

/** Result of applying a payment to an order; `ignored`: unknown status. */
export type PaymentOutcome = 'applied' | 'duplicate' | 'stale' | 'ignored'

/** Refund of a payment as commands take it. */
export const toListedRefund = ({ id, amountCents, status }: ProviderRefund) => ({
  id,
  amount: fromCents(amountCents),
  status,
})

/** Input of `recordPayment` for a fetched payment. */
export const toPaymentRecord = (orderId: number, payment: ProviderPayment): RecordPaymentInput =>
  RecordPaymentInput.parse({
    id: orderId,
    attempt_id: payment.attemptId,
    provider_payment_id: payment.id,
    provider_status: payment.status,
    status_detail: payment.statusDetail,
    live_mode: payment.liveMode,
    ...payment.details,
    refunded: fromCents(payment.refundedCents),
    changed_at: payment.changedAt ?? undefined,
    expires_at: payment.expiresAt ?? undefined,
    refunds: payment.refunds?.map(toListedRefund),
  })

/**
 * Applies a fetched payment, already checked against order and amount, and returns the updated order. Refused with
 * `not_found` if the order does not exist.
 */
export async function applyPayment(
  writer: Writer,
  { companyId, orderId, requestId }: { companyId: number; orderId: number; requestId: string | null },
  payment: ProviderPayment,
  idempotency?: Idempotency,
): Promise<{ outcome: PaymentOutcome; order: OrderObject } | Refusal> {
  const record = toPaymentRecord(orderId, payment)
  const answer = await runCommand(writer, asSystem(companyId, requestId), recordPayment, record, { idempotency })
  if (isRefusal(answer)) return answer
  const order = answer.record as OrderObject
  if (answer.replayed) return { order, outcome: 'duplicate' }
  return { order, outcome: answer.outcome === 'unchanged' ? whyUnchanged(order, record) : 'applied' }
}

function whyUnchanged(order: OrderObject, record: RecordPaymentInput): PaymentOutcome {
  const told = toReportedState(record, order.total)
  if (told === null) return 'ignored'
  const known = order.payments.find((payment) => payment.provider_payment_id === record.provider_payment_id)
  return classifyReport(known ? toRecordedState(known) : null, told)
}

/** Whether a payment is a test of a production store, or a production payment of a test store. */
export const isOfOtherMode = ({ liveMode }: ProviderPayment, { sandbox }: Pick<ProviderAccount, 'sandbox'>): boolean =>
  liveMode === sandbox

export const OTHER_MODE = 'a credencial da loja é de outro ambiente (teste ou produção)'

/**
 * Ends a payment of the other mode at the provider: a pending one is cancelled, a paid one is given back. It must not
 * stay payable, since it would never be recorded. A second call changes nothing.
 * @throws ProviderUnavailable, ProviderMisconfigured: it may still be payable
 */
export async function endOtherMode(
  provider: PaymentProvider,
  account: ProviderAccount,
  payment: ProviderPayment,
): Promise<void> {
  const ended = isPending(payment.status) ? await provider.cancelPayment(account, payment.id) : payment
  if (isPending(ended.status)) throw new ProviderUnavailable('provider did not cancel a payment of the other mode')
  const status = readStatus(ended.status, ended.statusDetail)?.status
  const amountCents = leftOf(ended)
  if (status !== 'paid' || amountCents === 0) return
  const refund = { refundId: uuidv5(payment.id, REFUNDS), paymentId: payment.id, amountCents }
  try {
    await provider.createRefund(account, refund)
  } catch (error) {
    if (!(error instanceof ProviderRefused)) throw error
    // A refund in process may be answered like a refusal.
    const now = await provider.getPayment(account, payment.id)
    if (!now || leftOf(now) > 0) throw new ProviderUnavailable('provider did not give back a payment of the other mode')
  }
}

/** Namespace of the refunds' ids; an arbitrary constant. */
const REFUNDS = '5f6f2f0e-3f57-4c0b-8a6e-0d1b5a4c7e93'

/** Cents that are neither refunded nor being refunded. */
function leftOf({ amountCents, refundedCents, refunds }: ProviderPayment): number {
  const taken = (refunds ?? []).reduce((sum, each) => (each.status === 'refused' ? sum : sum + each.amountCents), 0)
  return Math.max(0, (amountCents ?? 0) - Math.max(taken, refundedCents))
}

interface Cancelling {
  readonly pool: Database
  readonly vault: Vault
  readonly writer: Writer
  readonly provider: PaymentProvider
}

interface Cancellation {
  readonly acting: Actor
  readonly idempotency: Idempotency | undefined
  readonly orderId: number
  readonly reason: string | null
}

/**
 * Cancels an order; pending payments are cancelled at the provider first. A payment approved before that wins, and the
 * order is refused with `order_already_paid`. An attempt that starts meanwhile is cancelled afterwards, by this call,
 * by the attempt itself or by the sweep.
 * @throws ProviderUnavailable, ProviderMisconfigured: the order stays open
 */
export async function cancelWithProvider(context: Cancelling, cancellation: Cancellation): Promise<Answer | Refusal> {
  const { acting, idempotency, orderId, reason } = cancellation
  const replay = await lookUpReplay(context.pool, { ...acting, idempotency })
  if (replay) return replay
  const found = await findPayableOrder(fullReader(context.pool, acting.companyId), orderId)
  if (!found) return refuse('not_found')
  const input = { id: orderId, reason }
  if (acting.isDryRun) return tryCancellation(context, cancellation, found.order)
  if (!hasBeenPaid(found.order.payments)) await cancelOpenPayments(context, acting, found.order)
  const answer = await runCommand(context.writer, acting, cancelOrder, input, { idempotency })
  if (!isRefusal(answer) && !answer.replayed) await cancelLatePayments(context, acting, answer.record as OrderObject)
  return answer
}

/** Of attempts without an answer of the provider, the requests are not known before it is asked. */
async function tryCancellation(
  { writer, ...context }: Cancelling,
  { acting, idempotency, orderId, reason }: Cancellation,
  order: OrderObject,
): Promise<Answer | Refusal> {
  const open = hasBeenPaid(order.payments) ? [] : order.payments.filter(isPaymentOpen)
  if (open.length > 0) await storeAccount(context, order)
  const answer = await runCommand(writer, acting, cancelOrder, { id: orderId, reason }, { idempotency })
  if (isRefusal(answer) || !answer.dryRun) return answer
  const ids = open.flatMap(({ provider_payment_id }) => provider_payment_id ?? [])
  return { ...answer, dryRun: { ...answer.dryRun, requests: ids.map(cancellationRequest) } }
}

/** @throws ProviderMisconfigured */
async function storeAccount({ pool, vault }: Pick<Cancelling, 'pool' | 'vault'>, order: OrderObject) {
  const store = await findStore(pool, vault, order.store_alias)
  if (!store?.accessToken) throw new ProviderMisconfigured('store has no access token; set one')
  return { account: accountAt(store), sandbox: store.sandbox }
}

/**
 * Cancels at the provider attempts that started while the order was cancelled. If the provider is unavailable, the
 * sweep does it.
 */
export async function cancelLatePayments(context: Cancelling, acting: Actor, order: OrderObject): Promise<void> {
  if (order.cancelled_at === null) return
  try {
    await cancelOpenPayments(context, acting, order)
  } catch {
    // The order is cancelled: the response must not fail.
  }
}

/** Cancels all pending payments of an order at the provider, and records their states. */
async function cancelOpenPayments(
  { pool, vault, writer, provider }: Cancelling,
  { companyId, requestId }: Actor,
  order: OrderObject,
): Promise<void> {
  const open = order.payments.filter(isPaymentOpen)
  if (open.length === 0) return
  const { account, sandbox } = await storeAccount({ pool, vault }, order)
  const expected = { reference: order.provider_reference, totalCents: toCents(order.total), sandbox }
  const ids = new Set(open.flatMap(({ provider_payment_id }) => provider_payment_id ?? []))
  if (ids.size < open.length)
    for (const found of await provider.findPayments(account, expected.reference))
      if (matchesOrder(found, expected) && !order.payments.some((known) => known.provider_payment_id === found.id))
        ids.add(found.id)
  for (const id of ids) {
    const payment = await endPayment(provider, account, id)
    if (payment && matchesOrder(payment, expected))
      await applyPayment(writer, { companyId, orderId: order.id, requestId }, payment)
  }
}

/** Cancels a payment if it is pending, and returns its final state; null if it does not exist. */
async function endPayment(provider: PaymentProvider, account: ProviderAccount, id: string) {
  const payment = await provider.getPayment(account, id)
  return payment && isPending(payment.status) ? provider.cancelPayment(account, id) : payment
}

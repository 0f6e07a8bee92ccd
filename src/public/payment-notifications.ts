import { createHash } from 'node:crypto'
import express, { type Request, type RequestHandler, type Response, type Router } from 'express'
import * as z from 'zod'
import { toNetwork } from '#access/login-limits.ts'
import { describeIssues } from '#domain/refusals.ts'
import { boundedText, limitedText } from '#domain/text.ts'
import { sendJson, sendProblem } from '#http/answers.ts'
import { holdBody, tooLarge, unauthenticatedBodyBudget } from '#http/bodies.ts'
import { mountRoutes, rateLimitProblem, toProblem } from '#http/edge.ts'
import { pathId } from '#http/paths.ts'
import { Problem, problemBody, toHttpStatus } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import { lookUpReplay, ownKey } from '#ledger/write/idempotency.ts'
import { asSystem } from '#ledger/write/run.ts'
import { type LogError, Unavailable } from '#lib/errors.ts'
import type { MemoryBudget } from '#lib/fair-sharing.ts'
import { hasRepeatedMember } from '#lib/json.ts'
import {
  applyPayment,
  isSigned,
  matchesOrder,
  type NotificationOutcomeRecord,
  type PaymentOutcome,
  recordArrival,
  recordConclusion,
} from '#payments/notifications.ts'
import type { ProviderPayment } from '#payments/provider-port.ts'
import { accountAt } from '#payments/store-connections.ts'
import { findStore, type StoreAccess } from '#queries/company-queries.ts'
import { findNotifiedOrder, type NotifiedOrder } from '#queries/order-queries.ts'
import { Alias } from '#records/company-settings.ts'
import type { PaymentServices, Services } from '#services.ts'

/** Responses in Portuguese, visible in the provider's panel and the log. */
const MESSAGES = {
  applied: 'Notificação processada.',
  duplicate: 'Notificação repetida: o pagamento já estava registrado assim.',
  repeated: 'Notificação repetida: ela já foi tratada.',
  stale: 'Notificação atrasada: o pagamento já passou deste estado.',
  ignored: 'Estado de pagamento desconhecido: nada foi alterado.',
  ipn: 'Notificações IPN não são processadas: só as do tipo webhook.',
  otherType: 'Só notificações do tipo "payment" são processadas.',
  otherMode: 'O modo da notificação (live_mode) não é o da loja.',
} as const

export type Processing = Pick<PaymentServices, 'pool' | 'vault' | 'writer' | 'provider'>

interface Sent {
  /** Null if the URL contains no valid alias. */
  readonly storeAlias: string | null
  readonly payload: Payload
  /** Headers of the provider. */
  readonly signature: string | undefined
  readonly providerRequestId: string | undefined
}

/** Store of a notification, and whether its signature is valid. */
interface NotificationSender {
  /** Null if the store does not exist or is disabled. */
  readonly store: StoreAccess | null
  /** Signed with the store's notification secret. */
  readonly isSigned: boolean
  /** Key under which a signed notification is taken once; null of others. */
  readonly key: string | null
}

/** Finds the store and verifies the signature, without reading orders (RCV-20). */
async function findSender(
  { pool, vault }: Pick<Processing, 'pool' | 'vault'>,
  sent: Sent,
): Promise<NotificationSender> {
  const { storeAlias, payload, signature, providerRequestId: requestId } = sent
  const store = storeAlias === null ? null : await findStore(pool, vault, storeAlias)
  if (!store?.enabled) return { store: null, isSigned: false, key: null }
  const { notificationSecret: secret } = store
  const { told } = payload
  if (secret === null || told instanceof Problem || isIpn(told)) return { store, isSigned: false, key: null }
  if (!isSigned({ dataId: told.dataId, signature, requestId }, secret)) return { store, isSigned: false, key: null }
  const key = ownKey(`notificacao:${storeAlias}:${digest(requestId ?? signature ?? '')}`)
  return { store, isSigned: true, key }
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

interface Received {
  readonly sender: NotificationSender
  /** Null if the URL contains no valid order id. */
  readonly orderId: number | null
  readonly payload: Payload
  /** Request id of this service. */
  readonly requestId: string
}

const isIpn = (told: NotifiedPayment | IpnNotification): told is IpnNotification => !('dataId' in told)

/** Notification with response 200. */
interface Processed {
  readonly outcome: PaymentOutcome
  readonly body: {
    readonly processed: boolean
    readonly order_id: number
    readonly status: string
    readonly message: string
  }
}

/**
 * Processes a notification. It is only a hint: the payment is fetched from the provider, and nothing else is
 * trusted. No database connection is held during the fetch.
 * @throws Problem for responses other than 200; errors of the provider; Unavailable
 */
async function processNotification(context: Processing, received: Received): Promise<Processed> {
  const { orderId, payload, sender } = received
  const { told } = payload
  if (told instanceof Problem) throw told
  if (!sender.store) throw new Problem('not_found')
  if (isIpn(told)) return ipnIgnored(orderId)
  // A store with a secret requires signatures; without one, only the fetch protects.
  if (sender.store.isSigning && !sender.isSigned) throw new Problem('invalid_signature')
  const order = orderId === null ? null : await findNotifiedOrder(context.pool, sender.store, orderId)
  if (!order) throw new Problem('not_found')
  if (told.type !== 'payment' || told.dataId === null) return ignored(order, MESSAGES.otherType)
  if (told.liveMode === order.store.sandbox) return ignored(order, MESSAGES.otherMode)
  const { companyId } = order.store
  const idempotency =
    sender.key === null ? undefined : { key: sender.key, requestHash: digest(`${order.id}\n${told.dataId}`) }
  const taken = await lookUpReplay(context.pool, { ...asSystem(companyId), idempotency })
  if (taken) return isRefusal(taken) ? takenElsewhere() : repeated(order)
  const payment = await fetchPayment(context, order, told.dataId)
  const at = { companyId, orderId: order.id, requestId: received.requestId }
  const applied = await applyPayment(context.writer, at, payment, idempotency)
  if (isRefusal(applied)) {
    if (applied.refused === 'idempotency_key_reuse') takenElsewhere()
    throw new Problem(applied.refused)
  }
  const { outcome } = applied
  return {
    outcome,
    body: {
      processed: outcome === 'applied' || outcome === 'duplicate',
      order_id: order.id,
      status: applied.order.status,
      message: MESSAGES[outcome],
    },
  }
}

async function fetchPayment(
  { provider }: Processing,
  { store, reference, totalCents }: NotifiedOrder,
  dataId: string,
): Promise<ProviderPayment> {
  const payment = await provider.getPayment(accountAt(store), dataId)
  if (!payment || payment.id !== dataId || !matchesOrder(payment, { reference, totalCents, sandbox: store.sandbox }))
    throw new Problem('invalid_notification')
  return payment
}

/** Says nothing about the order: it is not looked up, because the notification is unsigned. */
function ipnIgnored(orderId: number | null): Processed {
  if (orderId === null) throw new Problem('not_found')
  return ignored({ id: orderId, status: 'ignored' }, MESSAGES.ipn)
}

/** @throws Problem: its signature covers a payment and a request, which were another order's. */
function takenElsewhere(): never {
  throw new Problem('invalid_notification')
}

const repeated = ({ id, status }: NotifiedOrder): Processed => ({
  outcome: 'duplicate',
  body: { processed: true, order_id: id, status, message: MESSAGES.repeated },
})

const ignored = ({ id, status }: { readonly id: number; readonly status: string }, message: string): Processed => ({
  outcome: 'ignored',
  body: { processed: false, order_id: id, status, message },
})

/** Fields of a notification that are used. It sets no state: it only names the payment to fetch from the provider. */
interface NotifiedPayment {
  readonly type: string
  /** Payment id at the provider; null only for types other than `payment`. */
  readonly dataId: string | null
  readonly liveMode: boolean | null
}

/**
 * Payment ids are digits; the provider's signature allows letters too. The id becomes part of a URL, so the pattern is
 * strict.
 */
const DataId = z
  .union([limitedText(100).regex(/^[A-Za-z0-9_-]{1,100}$/), z.int().positive()], 'deve ser o id de um pagamento')
  .transform(String)

const anyType = z.object({ type: boundedText(100) })

/** The provider may send more fields, and ids as numbers or texts. Only the required fields are checked. */
export const PaymentNotification = z.object({
  type: z.literal('payment'),
  live_mode: z.boolean('deve ser true ou false'),
  data: z.object({ id: DataId }).meta({ id: 'NotifiedPayment' }),
  id: z.union([z.number(), z.string()]).optional(),
  date_created: z.string().optional(),
  user_id: z.union([z.number(), z.string()]).nullish(),
  api_version: z.string().nullish(),
  action: z.string().optional(),
})

const dataIdOf = z.object({ data: z.object({ id: DataId }) })

/**
 * The provider's older format (IPN), which has the payment in the query: `topic` and `id`, or `type` and `data.id`. It
 * has no signature and is not processed, but is answered 200: else the provider repeats it for days.
 */
interface IpnNotification {
  readonly type: 'ipn'
}

const IPN_NAMES: readonly (readonly [type: string, id: string])[] = [
  ['topic', 'id'],
  ['type', 'data.id'],
]

const isIpnQuery = (query: URLSearchParams): boolean =>
  IPN_NAMES.some(
    ([type, id]) => /^[\w.-]{1,100}$/.test(query.get(type) ?? '') && DataId.safeParse(query.get(id)).success,
  )

/** A body of the same format. A webhook has more fields: it is processed, whatever its query repeats. */
const anyId = z.union([z.number(), z.string()])
const ipnBody = z.union([
  z.strictObject({ topic: boundedText(100), id: anyId.optional(), resource: z.string().optional() }),
  z.strictObject({ type: boundedText(100), data: z.strictObject({ id: anyId }) }),
  z.strictObject({ type: boundedText(100), 'data.id': anyId }),
])

/** Deeper than any real notification; bounds what readers of the log must handle. */
const MAX_DEPTH = 32

/** Received body and its parsed content. */
interface Payload {
  /** JSON text for the log: the body, or a JSON string that contains it if it is not JSON. */
  readonly text: string
  /** Parsed content, or the problem: malformed_json, invalid_notification. */
  readonly told: NotifiedPayment | IpnNotification | Problem
}

/** Content of a notification; `search` is the query of its URL. */
function payloadOf(bytes: Buffer, search: string): Payload {
  const body = bytes.toString('utf8')
  const value = parsed(bytes, body)
  const query = new URLSearchParams(search)
  const isEmpty = body.trim() === ''
  if (isIpnQuery(query) && (isEmpty || ipnBody.safeParse(value).success))
    return { text: isEmpty ? JSON.stringify(Object.fromEntries(query)) : body, told: { type: 'ipn' } }
  return {
    text: value === undefined ? JSON.stringify(body) : body,
    told: value === undefined ? new Problem('malformed_json') : toldBy(value),
  }
}

function toldBy(value: unknown): NotifiedPayment | Problem {
  const any = anyType.safeParse(value)
  if (!any.success) return invalid(any.error)
  const { type } = any.data
  if (type !== 'payment') return { type, dataId: dataIdOf.safeParse(value).data?.data.id ?? null, liveMode: null }
  const payment = PaymentNotification.safeParse(value)
  if (!payment.success) return invalid(payment.error)
  const { data, live_mode } = payment.data
  return { type, dataId: data.id, liveMode: live_mode }
}

const invalid = (error: z.ZodError): Problem =>
  new Problem('invalid_notification', { fields: describeIssues(error).fields })

/** Undefined if the body is not JSON, has a member twice, or cannot be stored unchanged. */
function parsed(bytes: Buffer, body: string): unknown {
  try {
    const value: unknown = JSON.parse(body)
    const isWhole = Buffer.from(body).equals(bytes) && !isDeeper(value, MAX_DEPTH)
    return isWhole && !hasRepeatedMember(body, value) ? value : undefined
  } catch {
    return undefined
  }
}

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((member) => isDeeper(member, depth - 1))
}

/** Limit per IP address of unsigned notifications, and per store and IP address of signed ones. */
export const NOTIFICATIONS_PER_MINUTE = 60

/** Below /webhook. */
const PATH = '/paymentprovider/:store_alias/:order_id'

/** Notifications of payments take about 300 bytes, other types up to 2 KB. */
const MAX_BODY_BYTES = 8_192

/** What the receiver is given. */
type ReceiverServices = Pick<Services, 'payments' | 'limits' | 'traffic' | 'log'>

/**
 * Receives notifications of the payment provider, below /webhook. Each is stored on arrival and updated with its
 * response, so that the log also shows refused, failed and unfinished ones.
 */
export function notificationReceiver(services: ReceiverServices): Router {
  const router = express.Router({ caseSensitive: true, strict: true })
  const handle: RequestHandler = (request, response) => receive(services, request, response)
  return mountRoutes(router, '/webhook', [{ method: 'post', path: PATH, handlers: [handle] }])
}

/** Counts a notification against its IP address; null while within the limit. */
async function countAddress({ limits }: ReceiverServices, { ip = '' }: Request): Promise<Problem | null> {
  const counted = await limits.notifications.consume(ip)
  return counted.limited ? rateLimitProblem(counted) : null
}

const parse = express.raw({ limit: MAX_BODY_BYTES, type: () => true })

/**
 * The body, regardless of its content type, or the problem of reading it. Rejects if the client disconnected: no
 * response is possible.
 */
function bodyOf(bodies: MemoryBudget, request: Request, response: Response): Promise<Payload | Problem> {
  return new Promise((resolve, reject) => {
    try {
      holdBody(unauthenticatedBodyBudget(bodies), MAX_BODY_BYTES, request, response)
    } catch (error) {
      if (error instanceof Problem || error instanceof Unavailable) resolve(toProblem(error))
      else reject(error)
      return
    }
    parse(request, response, (error?: unknown) => {
      const { type } = (error ?? {}) as { type?: string }
      if (error === undefined)
        resolve(payloadOf(Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0), searchOf(request)))
      else if (type === 'entity.too.large') resolve(tooLarge(MAX_BODY_BYTES))
      else if (type === 'encoding.unsupported') resolve(new Problem('unsupported_media_type'))
      else if (type === 'request.aborted' || !request.complete) reject(error)
      else resolve(new Problem('malformed_json'))
    })
  })
}

const searchOf = ({ originalUrl }: Request): string => originalUrl.split('?').slice(1).join('?')

/** Counts a notification with a signature: a valid one by store and address, a wrong one by address. */
async function countSigned(
  services: ReceiverServices,
  request: Request,
  { isSigned, store }: NotificationSender,
): Promise<Problem | null> {
  if (!isSigned || !store) return countAddress(services, request)
  const { ip = '' } = request
  const counted = await services.limits.signedNotifications.consume(`${store.alias} ${toNetwork(ip)}`)
  return counted.limited ? rateLimitProblem(counted) : null
}

/**
 * Counts, stores, processes, responds, and stores the response. The provider uses few IP addresses for many shops, so
 * signed notifications count for their store only: strangers take nothing from them. What is refused is stored,
 * and the sweep polls the payment.
 */
async function receive(services: ReceiverServices, request: Request, response: Response): Promise<void> {
  const { payments, traffic, log } = services
  const startedAt = performance.now()
  const { store_alias: storePath, order_id: orderPath } = request.params as { store_alias: string; order_id: string }
  const requestId = response.locals.requestId as string
  const storeAlias = Alias.safeParse(storePath).data ?? null
  const orderId = pathId(orderPath)
  const signature = request.get('x-signature')
  const providerRequestId = request.get('x-request-id')
  const tooMany = signature === undefined ? await countAddress(services, request) : null
  // The body is read even if refused: notifications of known orders are stored whole, and the response must not
  // reveal whether the order is known (RCV-32).
  const body = await bodyOf(traffic.unauthenticatedBodies.notifications, request, response)
  const sender =
    tooMany || body instanceof Problem
      ? UNKNOWN_SENDER
      : await findSender(payments, { storeAlias, payload: body, signature, providerRequestId })
  const { isSigned } = sender
  const refused = tooMany ?? (signature === undefined ? null : await countSigned(services, request, sender))
  const payload = body instanceof Problem ? null : body.text
  const about = { storePath, orderPath, orderId, requestId, payload }
  const kept = await recordArrival(payments.pool, { ...about, isSigned, isLimited: refused !== null })
  const answer = await answerOf(log, requestId, async () => {
    if (refused) throw refused
    if (body instanceof Problem) throw body
    return processNotification(payments, { sender, orderId, payload: body, requestId })
  })
  payments.onNotified(answer.outcome)
  const durationMs = Math.round(performance.now() - startedAt)
  if (kept)
    await recordConclusion(payments.pool, kept, { ...answer, durationMs }).catch((error: unknown) =>
      log('payment notifications: response not stored', error, { request_id: requestId, notification_id: kept.id }),
    )
  if (answer.problem) sendProblem(response, answer.problem, answer.httpStatus)
  else sendJson(response, answer.httpStatus, answer.response)
}

const UNKNOWN_SENDER: NotificationSender = { store: null, isSigned: false, key: null }

type Answer = Omit<NotificationOutcomeRecord, 'durationMs'> & { readonly problem?: Problem }

async function answerOf(
  log: LogError,
  requestId: string,
  work: () => ReturnType<typeof processNotification>,
): Promise<Answer> {
  try {
    const { outcome, body } = await work()
    return { outcome, response: JSON.stringify(body), httpStatus: 200 }
  } catch (error) {
    const problem = toProblem(error)
    const httpStatus = toHttpStatus(problem.code)
    if (httpStatus >= 500) log('payment notifications: processing failed', error, { request_id: requestId })
    return {
      outcome: httpStatus >= 500 ? 'failed' : 'refused',
      response: problemBody(problem, requestId),
      httpStatus,
      problem,
    }
  }
}

import express, { type Request, type Response, type Router } from 'express'
import { networkOf } from '#access/minute-limit.ts'
import { Alias } from '#commands/stores.ts'
import { sendJson, sendProblem } from '#http/answer.ts'
import { holdBody, tooLarge, unauthenticatedBodyBudget } from '#http/middleware/json-body.ts'
import { routed } from '#http/middleware/observe.ts'
import { type LogError, problemOf } from '#http/middleware/problem-handler.ts'
import { limited } from '#http/middleware/unauthenticated-clients.ts'
import { pathId } from '#http/paths.ts'
import { httpStatusOf, Problem, problemBody } from '#http/problems.ts'
import { Unavailable } from '#lib/errors.ts'
import type { MemoryBudget } from '#lib/memory-budget.ts'
import { type NotificationOutcomeRecord, recordArrival, recordConclusion } from '#payments/notification-log.ts'
import type { Services } from '#services.ts'
import { type Payload, payloadOf } from './payload.ts'
import { findSender, type NotificationSender, processNotification } from './process.ts'

/** Limit per IP address of unsigned notifications, and per store and IP address of signed ones (RCV-10, RCV-21). */
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
  const one = router.route(PATH).all(routed(`/webhook${PATH}`))
  one.post((request, response) => receive(services, request, response))
  one.all(() => {
    throw new Problem('method_not_allowed', undefined, { Allow: 'POST' })
  })
  return router
}

/** Counts a notification against its IP address; null while within the limit. */
async function countAddress({ limits }: ReceiverServices, { ip = '' }: Request): Promise<Problem | null> {
  const counted = await limits.notifications.consume(ip)
  return counted.limited ? limited(counted) : null
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
      if (error instanceof Problem || error instanceof Unavailable) resolve(problemOf(error))
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
  const counted = await services.limits.signedNotifications.consume(`${store.alias} ${networkOf(ip)}`)
  return counted.limited ? limited(counted) : null
}

/**
 * Counts, stores, processes, responds, and stores the response. The provider uses few IP addresses for many shops, so
 * signed notifications count for their store only: strangers take nothing from them (RCV-21). What is refused is stored,
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
      log(`payment notifications: response to notification ${kept.id} not stored`, error, requestId),
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
    const problem = problemOf(error)
    const httpStatus = httpStatusOf(problem.code)
    if (httpStatus >= 500) log('payment notifications: processing failed', error, requestId)
    return {
      outcome: httpStatus >= 500 ? 'failed' : 'refused',
      response: problemBody(problem, requestId),
      httpStatus,
      problem,
    }
  }
}

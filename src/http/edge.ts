import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { ErrorRequestHandler, Request, RequestHandler, Response, Router } from 'express'
import helmet from 'helmet'
import type { Rate } from '#access/api-authenticator.ts'
import type { AddressLimit } from '#access/login-limits.ts'
import { WritesBlocked } from '#integrity/installation-check.ts'
import { SealsUnwritable } from '#integrity/note.ts'
import { LedgerAhead } from '#ledger/ledgers.ts'
import { CannotOpen, KeysMissing } from '#ledger/sealed-fields.ts'
import { groupBy } from '#lib/collections.ts'
import { type LogError, TenantLimitExceeded, Unavailable } from '#lib/errors.ts'
import { ProviderMisconfigured, ProviderUnavailable, StoreNotConnected } from '#payments/provider-port.ts'
import { isOutage } from '#postgres/database.ts'
import { sendProblem } from './answers.ts'
import { bySpecificity } from './paths.ts'
import { Problem, problemOfReason, toHttpStatus } from './problems.ts'

/** Refuses a request without a Host, or with several: a proxy may have seen another one (RFC 9112, 3.2). */
export const requireHost: RequestHandler = ({ rawHeaders, httpVersion }, _response, next) => {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) next()
  else next(new Problem('malformed_request'))
}

/** Protocol names are case-insensitive (RFC 3986, 3.1), but Express accepts only `https`. */
export const foldForwardedProto: RequestHandler = ({ headers }, _response, next) => {
  const proto = headers['x-forwarded-proto']
  if (typeof proto === 'string') headers['x-forwarded-proto'] = proto.toLowerCase()
  next()
}

const LOOPBACK_ADDRESS = /^(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/
const LOOPBACK_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i
const FORWARDING = ['forwarded', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-real-ip', 'via']

/** Whether the request has no header of a proxy. */
export const isDirect = ({ headers }: Request): boolean => FORWARDING.every((name) => headers[name] === undefined)

/**
 * Refuses plain HTTP with 403; a redirect would hide that the key was already sent unencrypted. Behind a
 * trusted proxy X-Forwarded-Proto decides. Direct requests from the same machine are allowed, for a first try with
 * curl.
 */
export function requireHttps(limitAnonymous: LimitUnauthenticated): RequestHandler {
  return async (request, response, next) => {
    if (request.secure || isNewcomersCurl(request)) return next()
    await limitAnonymous(request, response)
    throw problemOfReason('https_required')
  }
}

function isNewcomersCurl(request: Request): boolean {
  return (
    LOOPBACK_ADDRESS.test(request.socket.remoteAddress ?? '') &&
    LOOPBACK_HOST.test(request.headers.host ?? '') &&
    isDirect(request)
  )
}

/** Bearer credential of a request; empty if the header has another scheme, null without the header. */
export function bearer(request: Request): string | null {
  const header = request.headers.authorization
  if (header === undefined) return null
  return /^Bearer +(\S+) *$/i.exec(header)?.[1] ?? ''
}

/** Counts a request against its address, for answers before authentication, such as the refusal of plain HTTP. */
export type LimitUnauthenticated = (request: Request, response: Response) => Promise<void>

export function limitUnauthenticatedBy(addresses: AddressLimit): LimitUnauthenticated {
  return async (request, response) => {
    const rate = await addresses.consume(request.ip ?? '')
    showRate(response, rate)
    if (rate.limited) throw rateLimitProblem(rate)
  }
}

/** Handler of a document that needs no authentication: limited by address, for GET and HEAD only. */
export const publicDocument =
  (
    limitAnonymous: LimitUnauthenticated,
    send: (request: Request, response: Response) => Promise<void> | void,
  ): RequestHandler =>
  async (request, response) => {
    await limitAnonymous(request, response)
    if (!['GET', 'HEAD'].includes(request.method))
      throw new Problem('method_not_allowed', undefined, { Allow: 'GET, HEAD' })
    await send(request, response)
  }

export const rateHeaders = ({ limit, remaining, reset }: Rate): [name: string, value: number][] => [
  ['X-RateLimit-Limit', limit],
  ['X-RateLimit-Remaining', remaining],
  ['X-RateLimit-Reset', reset],
]

export function showRate(response: Response, rate: Rate): void {
  for (const [name, value] of rateHeaders(rate)) response.setHeader(name, value)
}

/**
 * Answers with an error of API v1. One that came before the request was counted, such as an outage, is counted against
 * the address, so that every answer shows a limit.
 */
export function answerCounted(addresses: AddressLimit, answer: AnswerProblem): AnswerProblem {
  return (response, problem) => {
    if (response.hasHeader('X-RateLimit-Limit')) answer(response, problem)
    else void countThenAnswer(response, problem)
  }

  async function countThenAnswer(response: Response, problem: Problem): Promise<void> {
    const rate = await addresses.consume(response.req.ip ?? '')
    // The request may have been found unreadable, and answered, meanwhile.
    if (response.headersSent) return
    showRate(response, rate)
    answer(response, problem)
  }
}

export const rateLimitProblem = (rate: Pick<Rate, 'retryAfter'>): Problem =>
  new Problem('rate_limited', undefined, { 'Retry-After': String(rate.retryAfter) })

/**
 * Assigns each request an id, returned in every answer and stored in every event. The client's own id is not used:
 * catch-up groups events by request id, so it must be unique.
 */
export function requestId(newId: () => string): RequestHandler {
  return (_request, response, next) => {
    const id = newId()
    response.locals.requestId = id
    response.setHeader('X-Request-Id', id)
    next()
  }
}

/** Version, trace id, parent id and flags of a W3C trace context; later versions may append more. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/

/** Notes the trace context of a request, which is logged and passed on to its webhooks. A malformed one is ignored. */
export const traceRequest: RequestHandler = (request, response, next) => {
  const [, trace, parent, flags] = TRACEPARENT.exec(request.headers.traceparent?.toString() ?? '') ?? []
  if (trace !== undefined) response.locals.traceparent = `00-${trace}-${parent}-${flags}`
  next()
}

/** What an interface answers at an address: the descriptors of every interface end as this. */
export interface HttpRoute {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** Pattern of Express below the prefix: `/sales/:id`. */
  readonly path: string
  readonly handlers: readonly RequestHandler[]
}

interface Mounting {
  /** Before the handlers of any method. */
  readonly first?: readonly RequestHandler[]
  readonly refuse?: (problem: Problem) => RequestHandler
}

const passOn =
  (problem: Problem): RequestHandler =>
  (_request, _response, next) =>
    next(problem)

/** Adds routes to a router: the pattern is noted for metrics, never the path, and other methods are 405. */
export function mountRoutes(
  router: Router,
  prefix: string,
  routes: readonly HttpRoute[],
  { first = [], refuse = passOn }: Mounting = {},
): Router {
  for (const [path, ofPath] of groupBy(bySpecificity(routes), (route) => route.path)) {
    const one = router.route(path).all(
      (_request, response, next) => {
        response.locals.route = `${prefix}${path === '/' ? '' : path}`
        next()
      },
      ...first,
    )
    for (const { method, handlers } of ofPath) one[method](...handlers)
    const Allow = ofPath.flatMap(({ method }) => (method === 'get' ? ['GET', 'HEAD'] : method.toUpperCase())).join(', ')
    one.all(refuse(new Problem('method_not_allowed', undefined, { Allow })))
  }
  return router
}

/** A finished request, described by a bounded set of values. */
export interface ObservedRequest {
  readonly method: string
  /** Route pattern such as `/api/v1/sales/:id`; without a match the area of the path, such as `/api/v1/*`. */
  readonly route: string
  /** `aborted` if the client disconnected before the answer was complete. */
  readonly status: string
  readonly duration_seconds: number
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const AREAS = [
  '/api/v1',
  '/api',
  '/mcp',
  '/webhook',
  '/docs',
  '/painel',
  '/pagar',
  '/l',
  '/conferir',
  '/health',
  '/metrics',
]

/** Calls `onAnswered` for each request once its answer is sent or its connection is closed. */
export function observe(onAnswered: (call: ObservedRequest) => void): RequestHandler {
  return (request, response, next) => {
    const began = performance.now()
    const { method, originalUrl } = request
    response.on('close', () =>
      onAnswered({
        method: METHODS.includes(method) ? method : 'other',
        route: routeOf(response, originalUrl),
        status: response.writableFinished ? String(response.statusCode) : 'aborted',
        duration_seconds: (performance.now() - began) / 1000,
      }),
    )
    next()
  }
}

/** Pattern of the matched route, else the area of the path: a path may contain names. */
const routeOf = (response: Response, url: string): string =>
  (response.locals.route as string | undefined) ?? areaOf(url)

function areaOf(url: string): string {
  const area = AREAS.find((one) => url === one || url.startsWith(`${one}/`) || url.startsWith(`${one}?`))
  return area === undefined ? 'other' : `${area}/*`
}

const RETRY_AFTER_SECONDS = '1'
/** Delays the refusal: a client that retries at once would otherwise exceed its share of the processor. */
const SHARE_TAKEN_DELAY_MS = 1_000
/** Outages of another service last longer than our own. */
const PROVIDER_RETRY_AFTER_SECONDS = '30'

/** A person must connect the store first. */
const NOT_CONNECTED_RETRY_SECONDS = '300'

/** An operator must act first. */
const OPERATOR_RETRY_AFTER_SECONDS = '60'

/** Sends a problem in the error shape of the addressed interface. */
export type AnswerProblem = (response: Response, problem: Problem) => void

/**
 * Converts an error to an answer, by default in the shape of API v1. Of an unexpected error the client sees only the
 * request id.
 */
export function problemHandler(log: LogError, answer: AnswerProblem = answerProblem): ErrorRequestHandler {
  return (error, request, response, _next) => {
    // The rest of the request was unreadable and already answered (server.ts).
    if (response.locals.isRefused) return
    const problem = toProblem(error)
    // Only the operator can fix these.
    if (
      problem.code === 'internal_error' ||
      [ProviderMisconfigured, SealsUnwritable, CannotOpen].some((expected) => error instanceof expected)
    )
      log('http: request failed', error, {
        method: request.method,
        route: routeOf(response, request.originalUrl),
        request_id: response.locals.requestId,
        traceparent: response.locals.traceparent,
      })
    if (response.headersSent) {
      response.destroy()
      return
    }
    if (error instanceof TenantLimitExceeded)
      setTimeout(() => answerLate(response, problem, answer), SHARE_TAKEN_DELAY_MS)
    else answer(response, problem)
  }
}

/**
 * The request may have been found unreadable and answered meanwhile: a second answer, thrown in a timer, would end the
 * process.
 */
function answerLate(response: Response, problem: Problem, answer: AnswerProblem): void {
  if (response.headersSent || response.locals.isRefused) return
  answer(response, problem)
}

export const answerProblem = (response: Response, problem: Problem): void =>
  sendProblem(response, problem, toHttpStatus(problem.code))

/** Converts any error to a Problem. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (error instanceof ProviderUnavailable)
    return problemOfReason('provider_unreachable', { 'Retry-After': PROVIDER_RETRY_AFTER_SECONDS })
  if (error instanceof StoreNotConnected)
    return problemOfReason('provider_not_connected', { 'Retry-After': NOT_CONNECTED_RETRY_SECONDS })
  if (error instanceof ProviderMisconfigured) return new Problem('provider_configuration_invalid')
  if (error instanceof TenantLimitExceeded)
    return problemOfReason('share_taken', { 'Retry-After': RETRY_AFTER_SECONDS })
  if (error instanceof LedgerAhead)
    return problemOfReason('ledger_ahead_of_clock', { 'Retry-After': OPERATOR_RETRY_AFTER_SECONDS })
  if (error instanceof KeysMissing || error instanceof CannotOpen)
    return problemOfReason('keys_missing', { 'Retry-After': OPERATOR_RETRY_AFTER_SECONDS })
  if (error instanceof WritesBlocked)
    return problemOfReason('restore_unconfirmed', { 'Retry-After': OPERATOR_RETRY_AFTER_SECONDS })
  if (error instanceof SealsUnwritable)
    return problemOfReason('seals_unwritable', { 'Retry-After': OPERATOR_RETRY_AFTER_SECONDS })
  if (error instanceof Unavailable || isOutage(error))
    return new Problem('unavailable', undefined, { 'Retry-After': RETRY_AFTER_SECONDS })
  // For a path that cannot be decoded, the router throws an error with status 400: no such record exists.
  if ((error as { status?: unknown }).status === 400) return new Problem('not_found')
  return new Problem('internal_error')
}

/** Security headers of every answer, even without a matching route; pages may override some. */
export const SECURITY_HEADERS: readonly (readonly [name: string, value: string])[] = headersOfHelmet()

function headersOfHelmet(): [string, string][] {
  const request = new IncomingMessage(new Socket())
  const response = new ServerResponse(request)
  helmet()(request, response, () => {})
  return response.getHeaderNames().map((name) => [name, String(response.getHeader(name))])
}

export const securityHeaders: RequestHandler = (_request, response, next) => {
  for (const [name, value] of SECURITY_HEADERS) response.setHeader(name, value)
  next()
}

/**
 * Answers contain personal and financial data: shared caches must not store them; clients revalidate with the
 * ETag.
 */
export const forbidCaching: RequestHandler = (_request, response, next) => {
  response.setHeader('Cache-Control', 'no-store')
  response.setHeader('Vary', 'Accept-Encoding')
  next()
}

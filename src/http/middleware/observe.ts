import type { RequestHandler, Response } from 'express'

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
export const traced: RequestHandler = (request, response, next) => {
  const [, trace, parent, flags] = TRACEPARENT.exec(request.headers.traceparent?.toString() ?? '') ?? []
  if (trace !== undefined) response.locals.traceparent = `00-${trace}-${parent}-${flags}`
  next()
}

/** Notes the pattern of the matched route for metrics, never the path. */
export function routed(pattern: string): RequestHandler {
  return (_request, response, next) => {
    response.locals.route = pattern
    next()
  }
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
const AREAS = ['/api/v1', '/api', '/webhook', '/docs', '/painel', '/pagar', '/conferir', '/health', '/metrics']

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
export const routeOf = (response: Response, url: string): string =>
  (response.locals.route as string | undefined) ?? areaOf(url)

function areaOf(url: string): string {
  const area = AREAS.find((one) => url === one || url.startsWith(`${one}/`) || url.startsWith(`${one}?`))
  return area === undefined ? 'other' : `${area}/*`
}

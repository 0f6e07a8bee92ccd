import type { RequestHandler, Response } from 'express'

/**
 * Gives every request an id, which every answer carries and every event keeps. A caller's own id is not taken over:
 * catch-up tells the events of one request from the next one's by it.
 */
export function requestId(newId: () => string): RequestHandler {
  return (_request, response, next) => {
    const id = newId()
    response.locals.requestId = id
    response.setHeader('X-Request-Id', id)
    next()
  }
}

/** Notes which route a request has found, for whoever counts: its pattern, never the path that was called. */
export function routed(pattern: string): RequestHandler {
  return (_request, response, next) => {
    response.locals.route = pattern
    next()
  }
}

/** A call that has ended, in words of which there are only so many. */
export interface ObservedRequest {
  readonly method: string
  /** A route's pattern, as `/api/v1/sales/:id`; of a call that found none, the area of its path, as `/api/v1/*`. */
  readonly route: string
  /** `aborted` when the caller left before the answer was complete. */
  readonly status: string
  readonly duration_seconds: number
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const AREAS = ['/api/v1', '/api', '/webhook', '/docs', '/painel', '/pagar', '/conferir', '/health', '/metrics']

/** Tells `onAnswered` of each call when its connection is done with it. */
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

/** The pattern of the route that a call has found, else the area of its path: in a path there may be names. */
export const routeOf = (response: Response, url: string): string =>
  (response.locals.route as string | undefined) ?? areaOf(url)

function areaOf(url: string): string {
  const area = AREAS.find((one) => url === one || url.startsWith(`${one}/`) || url.startsWith(`${one}?`))
  return area === undefined ? 'other' : `${area}/*`
}

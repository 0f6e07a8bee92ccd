import type { RequestHandler } from 'express'
import { routeOf } from './routed.ts'

/** A call that has ended, in words of which there are only so many. */
export interface Call {
  readonly method: string
  /** A route's pattern, as `/api/v1/sales/:id`; of a call that found none, the area of its path, as `/api/v1/*`. */
  readonly route: string
  /** `aborted` when the caller left before the answer was complete. */
  readonly status: string
  readonly duration_seconds: number
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const AREAS = ['/api/v1', '/api', '/webhook', '/docs', '/painel', '/health', '/metrics']

/** Tells `onAnswered` of each call when its connection is done with it. */
export function observe(onAnswered: (call: Call) => void): RequestHandler {
  return (request, response, next) => {
    const began = performance.now()
    const { method, originalUrl } = request
    response.on('close', () =>
      onAnswered({
        method: METHODS.includes(method) ? method : 'other',
        route: routeOf(response) ?? areaOf(originalUrl),
        status: response.writableFinished ? String(response.statusCode) : 'aborted',
        duration_seconds: (performance.now() - began) / 1000,
      }),
    )
    next()
  }
}

function areaOf(url: string): string {
  const area = AREAS.find((one) => url === one || url.startsWith(`${one}/`) || url.startsWith(`${one}?`))
  return area === undefined ? 'other' : `${area}/*`
}

import { createHash, timingSafeEqual } from 'node:crypto'
import type { Request, RequestHandler } from 'express'
import ipaddr from 'ipaddr.js'
import { answerProblem } from '#http/middleware/problem-handler.ts'
import { isDirect } from '#http/middleware/transport.ts'
import { bearer } from '#http/middleware/unauthenticated-clients.ts'
import { Problem } from '#http/problems.ts'

export interface MetricsOptions {
  readonly metrics: { readonly contentType: string; read(): Promise<string> }
  /** Bearer token of the reader; null: local clients only. */
  readonly token: string | null
}

/**
 * `/metrics`, in Prometheus's text format. With a token it requires it. Without one it answers direct requests from
 * this machine and private networks only; for others, and behind a proxy, the path does not exist.
 */
export function serveMetrics({ metrics, token }: MetricsOptions): RequestHandler {
  return async (request, response) => {
    const refusal = token === null ? refuseFar(request) : refuseAnonymous(request, token)
    if (refusal) return answerProblem(response, refusal)
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return answerProblem(response, new Problem('method_not_allowed', undefined, { Allow: 'GET, HEAD' }))
    }
    const text = await metrics.read()
    response.setHeader('Content-Type', metrics.contentType)
    response.end(request.method === 'HEAD' ? undefined : text)
  }
}

const NEAR = ['loopback', 'private', 'uniqueLocal', 'linkLocal']

function refuseFar(request: Request): Problem | null {
  const address = request.socket.remoteAddress
  const isNear =
    address !== undefined && NEAR.includes(ipaddr.process(address.split('%')[0] as string).range()) && isDirect(request)
  return isNear ? null : new Problem('not_found')
}

function refuseAnonymous(request: Request, token: string): Problem | null {
  const shown = bearer(request)
  if (shown !== null && timingSafeEqual(digest(shown), digest(token))) return null
  return new Problem(shown === null ? 'missing_token' : 'invalid_token', undefined, { 'WWW-Authenticate': 'Bearer' })
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

import type { RequestHandler } from 'express'
import type { Compress } from '#http/compression.ts'
import { type LimitUnauthenticated, publicDocument } from '#http/middleware/unauthenticated-clients.ts'
import { createFixedAnswer } from '#http/representation.ts'

/**
 * A JSON document without authentication: limited by address, and under the rule for plain HTTP like every request.
 * Generated at the first request.
 */
export function serveDocument(
  make: () => object,
  limitAnonymous: LimitUnauthenticated,
  compress: Compress,
): RequestHandler {
  const send = createFixedAnswer(() => JSON.stringify(make()), compress)
  return publicDocument(limitAnonymous, (_request, response) => send(response))
}

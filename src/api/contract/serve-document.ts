import type { RequestHandler } from 'express'
import type { Compress } from '#http/compression.ts'
import type { LimitUnauthenticated } from '#http/middleware/unauthenticated-clients.ts'
import { Problem } from '#http/problems.ts'
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
  return async (request, response) => {
    await limitAnonymous(request, response)
    if (!['GET', 'HEAD'].includes(request.method))
      throw new Problem('method_not_allowed', undefined, { Allow: 'GET, HEAD' })
    await send(response)
  }
}

import type { Request, RequestHandler, Response } from 'express'
import { sendJson } from '#http/answer.ts'
import { Problem } from '#http/problems.ts'
import type { Route } from '../route.ts'
import { contractOf } from './document.ts'

/**
 * `/openapi.json`, for whoever has no key yet: limited by address like every stranger, and under the rule for plain HTTP
 * like every call. The text is made when it is first asked for.
 */
export function serveContract(
  routes: readonly Route[],
  limitAnonymous: (request: Request, response: Response) => Promise<void>,
): RequestHandler {
  let text: string | undefined
  return async (request, response) => {
    await limitAnonymous(request, response)
    if (!['GET', 'HEAD'].includes(request.method))
      throw new Problem('method_not_allowed', undefined, { Allow: 'GET, HEAD' })
    text ??= JSON.stringify(contractOf(routes))
    sendJson(response, 200, text)
  }
}

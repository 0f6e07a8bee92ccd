import type { Request, RequestHandler, Response } from 'express'
import type { AuthenticatedCall } from '#access/api-authenticator.ts'
import type { Problem } from '#http/problems.ts'
import { keptDetails, maskedBody, maskedPath, maskedQuery } from '#http/request-log/masking.ts'
import type { RequestLog } from '#http/request-log/request-log.ts'

/** Logs each authenticated request when it ends, whatever its outcome (KIT-50); unauthenticated ones are not logged. */
export function logRequests(calls: RequestLog): RequestHandler {
  return (request, response, next) => {
    const began = performance.now()
    const at_ms = Date.now()
    // Express restores these values after the router.
    const { method, baseUrl, originalUrl } = request
    response.on('close', () => {
      const { admission } = response.locals as { admission?: AuthenticatedCall }
      if (!admission) return
      const { companyId, keyId } = admission
      const duration_ms = Math.round(performance.now() - began)
      calls.add({
        companyId,
        keyId,
        at_ms,
        duration_ms,
        ...describeRequest({ method, baseUrl, originalUrl }),
        ...describeResponse(request, response),
      })
    })
    next()
  }
}

function describeRequest({ method, baseUrl, originalUrl }: Pick<Request, 'method' | 'baseUrl' | 'originalUrl'>) {
  const end = originalUrl.indexOf('?')
  // A request line may hold a whole URL.
  const begin = originalUrl.indexOf(baseUrl) + baseUrl.length
  return {
    method,
    path: maskedPath(originalUrl.slice(begin, end < 0 ? undefined : end) || '/'),
    query: end < 0 ? null : maskedQuery(originalUrl.slice(end + 1)),
  }
}

function describeResponse(request: Request, response: Response) {
  const { requestId, traceparent, rawBody, problem } = response.locals as {
    requestId: string
    traceparent?: string
    rawBody?: Buffer
    problem?: Problem
  }
  return {
    id: requestId,
    status: response.writableFinished ? response.statusCode : null,
    replayed: response.hasHeader('Idempotent-Replayed'),
    code: problem?.code ?? null,
    traceparent: traceparent ?? null,
    body: problem && rawBody && request.body !== undefined ? maskedBody(request.body) : null,
    details: problem?.details ? keptDetails(problem.details) : null,
  }
}

import type { RequestHandler, Response } from 'express'
import type { ApiAuthenticator, AuthenticatedCall } from '#access/api-authenticator.ts'
import { hashKey, isKey } from '#access/api-keys.ts'
import { type Calendar, dateInZone } from '#domain/instant.ts'
import type { Scope } from '#domain/scopes.ts'
import { declaredBytes, showBytes, tooManyBytes } from '#http/middleware/body-bytes.ts'
import { bearer, type LimitUnauthenticated, limited, showRate } from '#http/middleware/unauthenticated-clients.ts'
import { Problem, problemOfReason } from '#http/problems.ts'
import { type Actor, asApiKey } from '#ledger/write/run.ts'
import { liveKey } from '#projections/api-keys.ts'

/** Company and key of an authenticated request, with the company's day at that moment. */
export interface Caller extends Calendar {
  readonly companyId: number
  readonly keyId: number
  readonly scopes: readonly string[]
}

/** Set by `authenticate`, which runs before every handler. */
export const callerOf = (response: Response): Caller => response.locals.caller as Caller
export const admissionOf = (response: Response): AuthenticatedCall => response.locals.admission as AuthenticatedCall

/** Actor of the request's commands, valid as long as its key is not revoked. */
export function actingOf(response: Response): Actor {
  const caller = callerOf(response)
  const { requestId, traceparent } = response.locals as { requestId: string; traceparent?: string }
  return { ...asApiKey(caller, requestId), guard: liveKey(caller.keyId), traceparent }
}

/** Query parameters that are mistaken for a place of the key. Query strings end up in logs and histories (KEY-6). */
const KEY_PARAMETERS = ['api_key', 'access_token', 'token', 'key']

export const CHALLENGE = { 'WWW-Authenticate': 'Bearer' }

/**
 * Checks key, quota of requests and bytes, and add-on in one statement. A body beyond `maxBodyBytes` will not be read.
 * A request without a valid key is limited by address, so that every answer can show a limit.
 */
export function authenticate(
  gate: ApiAuthenticator,
  limitAnonymous: LimitUnauthenticated,
  maxBodyBytes: number,
): RequestHandler {
  return async (request, response, next) => {
    const refuse = async (problem: Problem): Promise<never> => {
      await limitAnonymous(request, response)
      throw problem
    }
    // Express parses the query string at each access.
    const { query } = request
    if (KEY_PARAMETERS.some((name) => name in query)) return refuse(problemOfReason('key_in_query', CHALLENGE))
    const key = bearer(request)
    if (key === null) return refuse(new Problem('missing_token', undefined, CHALLENGE))
    const bytes = declaredBytes(request, maxBodyBytes) ?? 0
    const admission = isKey(key) ? await gate.admit(hashKey(key), bytes) : null
    if (!admission || admission.kind === 'invalid') return refuse(new Problem('invalid_token', undefined, CHALLENGE))
    response.locals.admission = admission
    showRate(response, admission.rate)
    showBytes(response, admission.bytes)
    response.setHeader('X-Ledger-Revision', admission.revision)
    if (admission.kind === 'limited') throw limited(admission.rate)
    if (admission.kind === 'too_many_bytes') throw tooManyBytes(admission.bytes)
    if (admission.plan !== 'api') throw new Problem('plan_required')
    const { companyId, keyId, scopes, timezone } = admission
    // By Postgres's clock, as for commands: processes with different clocks agree on the start of a day.
    const today = dateInZone(admission.now, timezone)
    response.locals.caller = { companyId, keyId, scopes, timezone, today } satisfies Caller
    next()
  }
}

/** Null accepts any key. */
export function requireScope(scope: Scope | null): RequestHandler {
  return (_request, response, next) => {
    if (scope === null || admissionOf(response).scopes.includes(scope)) next()
    else next(new Problem('insufficient_scope', { missing_scope: scope }))
  }
}

import type { Request, RequestHandler, Response } from 'express'
import { hashKey, isKey } from '#access/api-keys.ts'
import type { AddressLimit } from '#access/minute-limit.ts'
import type { Gate, Rate } from '#access/quota.ts'
import { dateInZone } from '#domain/instant.ts'
import type { Caller } from '#http/caller.ts'
import { Problem, type ProblemCode } from '../problems.ts'

/** Where people put keys by mistake: a query string ends up in logs and histories (KEY-6). */
const KEY_PARAMETERS = ['api_key', 'access_token', 'token', 'key']

/**
 * Admits a call of API v1: key, quota and add-on, in one statement. Whoever has no valid key is limited by address
 * instead, so that every answer can show a limit.
 */
export function authenticate(gate: Gate, addresses: AddressLimit): RequestHandler {
  return async (request, response, next) => {
    // Express parses it again whenever it is asked for.
    const { query } = request
    const misplaced = KEY_PARAMETERS.some((name) => name in query)
    const key = bearer(request)
    if (misplaced || key === null || !isKey(key)) {
      return refuseStranger(addresses, request, response, misplaced || key !== null ? 'invalid_token' : 'missing_token')
    }
    const admission = await gate.admit(hashKey(key))
    if (admission.kind === 'invalid') return refuseStranger(addresses, request, response, 'invalid_token')
    showRate(response, admission.rate)
    response.setHeader('X-Ledger-Revision', admission.revision)
    if (admission.kind === 'limited') throw limited(admission.rate)
    if (admission.plan !== 'api') throw new Problem('plan_required')
    const { companyId, keyId, timezone } = admission
    // By Postgres's clock, as commands decide: processes whose clocks differ agree on when a day begins.
    const today = dateInZone(admission.now, timezone)
    response.locals.caller = { companyId, keyId, timezone, today } satisfies Caller
    response.locals.admission = admission
    next()
  }
}

/** The limit of an address, for answers that are given before anybody is known, as the refusal of plain HTTP. */
export function limitStrangers(addresses: AddressLimit): (request: Request, response: Response) => Promise<void> {
  return async (request, response) => {
    const rate = await addresses.consume(request.ip ?? '')
    showRate(response, rate)
    if (rate.limited) throw limited(rate)
  }
}

async function refuseStranger(
  addresses: AddressLimit,
  request: Request,
  response: Response,
  code: ProblemCode,
): Promise<never> {
  await limitStrangers(addresses)(request, response)
  throw new Problem(code, undefined, { 'WWW-Authenticate': 'Bearer' })
}

/** The credential of a call; empty when the header says something else than a bearer, null when there is none. */
export function bearer(request: Request): string | null {
  const header = request.headers.authorization
  if (header === undefined) return null
  return /^Bearer +(\S+) *$/i.exec(header)?.[1] ?? ''
}

function showRate(response: Response, rate: Rate): void {
  response.setHeader('X-RateLimit-Limit', rate.limit)
  response.setHeader('X-RateLimit-Remaining', rate.remaining)
  response.setHeader('X-RateLimit-Reset', rate.reset)
}

export const limited = (rate: Rate): Problem =>
  new Problem('rate_limited', undefined, { 'Retry-After': String(rate.retryAfter) })

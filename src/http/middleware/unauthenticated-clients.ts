import type { Request, Response } from 'express'
import type { Rate } from '#access/api-authenticator.ts'
import type { AddressLimit } from '#access/minute-limit.ts'
import { Problem } from '../problems.ts'
import { showBytes } from './body-bytes.ts'

/** Bodies of unauthenticated requests are not read. */
const NO_BYTES = { limit: 0, remaining: 0 }

/** Bearer credential of a request; empty if the header has another scheme, null without the header. */
export function bearer(request: Request): string | null {
  const header = request.headers.authorization
  if (header === undefined) return null
  return /^Bearer +(\S+) *$/i.exec(header)?.[1] ?? ''
}

/** Counts a request against its address, for answers before authentication, such as the refusal of plain HTTP. */
export type LimitUnauthenticated = (request: Request, response: Response) => Promise<void>

export function limitUnauthenticatedBy(addresses: AddressLimit): LimitUnauthenticated {
  return async (request, response) => {
    const rate = await addresses.consume(request.ip ?? '')
    showRate(response, rate)
    showBytes(response, NO_BYTES)
    if (rate.limited) throw limited(rate)
  }
}

export function showRate(response: Response, rate: Rate): void {
  response.setHeader('X-RateLimit-Limit', rate.limit)
  response.setHeader('X-RateLimit-Remaining', rate.remaining)
  response.setHeader('X-RateLimit-Reset', rate.reset)
}

export const limited = (rate: Pick<Rate, 'retryAfter'>): Problem =>
  new Problem('rate_limited', undefined, { 'Retry-After': String(rate.retryAfter) })

import type { Request, RequestHandler, Response } from 'express'
import type { BytesLeft, Charge } from '#access/api-authenticator.ts'
import { type Problem, problemOfReason } from '../problems.ts'

/** Counts the bytes of a body against its company. */
export type ChargeBytes = (companyId: number, bytes: number) => Promise<Charge>

/** Reads: a body has no meaning there, and is not read. */
const METHODS_WITHOUT_BODY = ['GET', 'HEAD']

/**
 * Bytes of a body that is announced and would be read, 0 where there is none; null where only reading tells, because it comes in
 * chunks or compressed: then what it unpacks to counts.
 */
export function announcedBytes({ method, headers }: Request, limit: number): number | null {
  if (METHODS_WITHOUT_BODY.includes(method)) return 0
  const length = Number(headers['content-length'] ?? 0)
  if (headers['transfer-encoding'] !== undefined || (length > 0 && headers['content-encoding'] !== undefined))
    return null
  // More than may be sent is refused unread.
  return length > limit ? 0 : length
}

/** Counts a body after it was read, where its size was not known before. */
export function chargeRead(
  charge: ChargeBytes,
  companyOf: (response: Response) => number,
  limit: number,
): RequestHandler {
  return async (request, response, next) => {
    const body = response.locals.rawBody as Buffer | undefined
    if (body && announcedBytes(request, limit) === null)
      await chargeOrRefuse(charge, response, companyOf(response), body.length)
    next()
  }
}

/** @throws Problem when the body is more than what is left of the company's day. */
export async function chargeOrRefuse(
  charge: ChargeBytes,
  response: Response,
  companyId: number,
  bytes: number,
): Promise<void> {
  const counted = await charge(companyId, bytes)
  showBytes(response, counted.bytes)
  if (!counted.isCounted) throw tooManyBytes(counted.bytes)
}

export function showBytes(response: Response, { limit, remaining }: Pick<BytesLeft, 'limit' | 'remaining'>): void {
  response.setHeader('X-RateLimit-Bytes-Limit', limit)
  response.setHeader('X-RateLimit-Bytes-Remaining', remaining)
}

/** Nothing of it was read; whoever sends it should not go on on this connection. */
export const tooManyBytes = ({ retryAfter }: BytesLeft): Problem =>
  problemOfReason('bytes_used_up', { 'Retry-After': String(retryAfter), Connection: 'close' })

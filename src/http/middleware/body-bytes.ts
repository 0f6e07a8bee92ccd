import type { Request, RequestHandler, Response } from 'express'
import type { BytesLeft, Charge } from '#access/api-authenticator.ts'
import { type Problem, problemOfReason } from '../problems.ts'

/** Counts the bytes of a body against the daily limit of its company. */
export type ChargeBytes = (companyId: number, bytes: number) => Promise<Charge>

/** Bodies of these methods have no meaning and are not read. */
const METHODS_WITHOUT_BODY = ['GET', 'HEAD']

/**
 * Announced size of a body that would be read, in bytes; 0 without a body. Null if only reading reveals the size,
 * because the body is chunked or compressed: the unpacked size counts then.
 */
export function declaredBytes({ method, headers }: Request, limit: number): number | null {
  if (METHODS_WITHOUT_BODY.includes(method)) return 0
  const length = Number(headers['content-length'] ?? 0)
  if (headers['transfer-encoding'] !== undefined || (length > 0 && headers['content-encoding'] !== undefined))
    return null
  // A body beyond the limit is refused unread.
  return length > limit ? 0 : length
}

/** Counts a body after reading, if its size was unknown before. */
export function chargeRead(
  charge: ChargeBytes,
  companyOf: (response: Response) => number,
  limit: number,
): RequestHandler {
  return async (request, response, next) => {
    const body = response.locals.rawBody as Buffer | undefined
    if (body && declaredBytes(request, limit) === null)
      await chargeOrRefuse(charge, response, companyOf(response), body.length)
    next()
  }
}

/** @throws Problem if the body exceeds the company's remaining bytes of the day. */
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

/** Closes the connection: the body was not read, and the client should not continue to send it. */
export const tooManyBytes = ({ retryAfter }: BytesLeft): Problem =>
  problemOfReason('bytes_used_up', { 'Retry-After': String(retryAfter), Connection: 'close' })

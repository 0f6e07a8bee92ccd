import type { RequestHandler } from 'express'
import { TenantLimitExceeded } from '#lib/errors.ts'
import type { KeyedSemaphore } from '#lib/keyed-semaphore.ts'
import { shareOf } from '../share-of.ts'

/** No sale, record or form comes near; lists of hundreds of them do. */
const LARGE_BODY_BYTES = 16_384

/**
 * Lets large calls of a company in a few at a time, until each is answered. The bodies of those that wait are not read: they
 * are with their sender, and take neither memory nor processor. Who does not say how large a body is has a large one.
 * @throws TenantLimitExceeded when too many of the company wait, or one has waited too long.
 */
export function limitLargeRequests(turns: KeyedSemaphore): RequestHandler {
  return async ({ headers }, response, next) => {
    const { 'content-length': length, 'transfer-encoding': encoding, 'content-encoding': coding } = headers
    const isLarge = encoding !== undefined || coding !== undefined || Number(length ?? 0) > LARGE_BODY_BYTES
    if (!isLarge) return next()
    const gone = new AbortController()
    const leaveLine = () => gone.abort()
    response.once('close', leaveLine)
    const leave = await turns.acquire(shareOf(response), gone.signal)
    response.off('close', leaveLine)
    if (!leave) throw new TenantLimitExceeded('too many large calls of the company are waiting')
    if (response.closed) leave()
    else response.once('close', leave)
    next()
  }
}

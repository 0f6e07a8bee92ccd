import type { RequestHandler } from 'express'
import { TenantLimitExceeded } from '#lib/errors.ts'
import type { KeyedSemaphore } from '#lib/keyed-semaphore.ts'
import { shareOf } from '../share-of.ts'

/** Single sales, records and forms are far smaller; lists of hundreds of them are larger. */
const LARGE_BODY_BYTES = 16_384

/**
 * Limits concurrent large requests per company, each until it is answered. The body of a waiting request is not read,
 * so it takes neither memory nor processor. A body without announced size counts as large. @throws TenantLimitExceeded
 * if too many requests of the company wait, or one has waited too long.
 */
export function limitLargeRequests(semaphore: KeyedSemaphore): RequestHandler {
  return async ({ headers }, response, next) => {
    const { 'content-length': length, 'transfer-encoding': encoding, 'content-encoding': coding } = headers
    const isLarge = encoding !== undefined || coding !== undefined || Number(length ?? 0) > LARGE_BODY_BYTES
    if (!isLarge) return next()
    const gone = new AbortController()
    const abortWait = () => gone.abort()
    response.once('close', abortWait)
    const release = await semaphore.acquire(shareOf(response), gone.signal)
    response.off('close', abortWait)
    if (!release) throw new TenantLimitExceeded('too many large requests of the company are queued; try again later')
    if (response.closed) release()
    else response.once('close', release)
    next()
  }
}

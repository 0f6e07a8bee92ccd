import type { Request, RequestHandler, Response } from 'express'
import type { Rate } from '#access/api-authenticator.ts'
import type { AddressLimit } from '#access/minute-limit.ts'
import { Problem } from '../problems.ts'
import type { AnswerProblem } from './problem-handler.ts'

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
    if (rate.limited) throw limited(rate)
  }
}

/** Handler of a document that needs no authentication: limited by address, for GET and HEAD only. */
export const publicDocument =
  (
    limitAnonymous: LimitUnauthenticated,
    send: (request: Request, response: Response) => Promise<void> | void,
  ): RequestHandler =>
  async (request, response) => {
    await limitAnonymous(request, response)
    if (!['GET', 'HEAD'].includes(request.method))
      throw new Problem('method_not_allowed', undefined, { Allow: 'GET, HEAD' })
    await send(request, response)
  }

export const rateHeaders = ({ limit, remaining, reset }: Rate): [name: string, value: number][] => [
  ['X-RateLimit-Limit', limit],
  ['X-RateLimit-Remaining', remaining],
  ['X-RateLimit-Reset', reset],
]

export function showRate(response: Response, rate: Rate): void {
  for (const [name, value] of rateHeaders(rate)) response.setHeader(name, value)
}

/**
 * Answers with an error of API v1. One that came before the request was counted, such as an outage, is counted against
 * the address, so that every answer shows a limit (RATE-2).
 */
export function answerCounted(addresses: AddressLimit, answer: AnswerProblem): AnswerProblem {
  return (response, problem) => {
    if (response.hasHeader('X-RateLimit-Limit')) answer(response, problem)
    else void countThenAnswer(response, problem)
  }

  async function countThenAnswer(response: Response, problem: Problem): Promise<void> {
    const rate = await addresses.consume(response.req.ip ?? '')
    // The request may have been found unreadable, and answered, meanwhile.
    if (response.headersSent) return
    showRate(response, rate)
    answer(response, problem)
  }
}

export const limited = (rate: Pick<Rate, 'retryAfter'>): Problem =>
  new Problem('rate_limited', undefined, { 'Retry-After': String(rate.retryAfter) })

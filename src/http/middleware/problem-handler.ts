import type { ErrorRequestHandler, Response } from 'express'
import { SealsUnwritable } from '#integrity/proofs/checkpoint-files.ts'
import { WritesBlocked } from '#integrity/proofs/installation-watch.ts'
import { LedgerAhead } from '#ledger/ledgers.ts'
import { KeysMissing } from '#ledger/missing-keys.ts'
import { CannotOpen } from '#ledger/personal-fields.ts'
import { TenantLimitExceeded, Unavailable } from '#lib/errors.ts'
import { ProviderMisconfigured, ProviderUnavailable, StoreNotConnected } from '#payments/provider-port.ts'
import { isOutage } from '#postgres/outage.ts'
import { sendProblem } from '../answer.ts'
import { httpStatusOf, Problem, problemOfReason } from '../problems.ts'
import { routeOf } from './observe.ts'

const RETRY_AFTER_SECONDS = '1'
/** Delays the refusal: a client that retries at once would otherwise exceed its share of the processor. */
const SHARE_TAKEN_DELAY_MS = 1_000
/** Outages of another service last longer than our own. */
const PROVIDER_RETRY_AFTER_SECONDS = '30'

/** A person must connect the store first. */
const NOT_CONNECTED_RETRY_SECONDS = '300'

/** An operator must act first. */
const OPERATOR_RETRY_AFTER_SECONDS = '60'

/** Sends a problem in the error shape of the addressed interface. */
export type AnswerProblem = (response: Response, problem: Problem) => void

export type LogError = (message: string, error: unknown, requestId: string, traceparent?: string) => void

/**
 * Converts an error to an answer, by default in the shape of API v1. Of an unexpected error the client sees only the
 * request id.
 */
export function problemHandler(log: LogError, answer: AnswerProblem = answerProblem): ErrorRequestHandler {
  return (error, request, response, _next) => {
    // The rest of the request was unreadable and already answered (malformed-requests.ts).
    if (response.locals.isRefused) return
    const problem = problemOf(error)
    // Only the operator can fix these.
    if (
      problem.code === 'internal_error' ||
      [ProviderMisconfigured, SealsUnwritable, CannotOpen].some((expected) => error instanceof expected)
    )
      log(
        `${request.method} ${routeOf(response, request.originalUrl)} failed`,
        error,
        response.locals.requestId,
        response.locals.traceparent,
      )
    if (response.headersSent) {
      response.destroy()
      return
    }
    if (error instanceof TenantLimitExceeded)
      setTimeout(() => answerLate(response, problem, answer), SHARE_TAKEN_DELAY_MS)
    else answer(response, problem)
  }
}

/**
 * The request may have been found unreadable and answered meanwhile: a second answer, thrown in a timer, would end the
 * process.
 */
function answerLate(response: Response, problem: Problem, answer: AnswerProblem): void {
  if (response.headersSent || response.locals.isRefused) return
  answer(response, problem)
}

export const answerProblem = (response: Response, problem: Problem): void =>
  sendProblem(response, problem, httpStatusOf(problem.code))

/** Converts any error to a Problem. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (error instanceof ProviderUnavailable)
    return problemOfReason('provider_unreachable', { 'Retry-After': PROVIDER_RETRY_AFTER_SECONDS })
  if (error instanceof StoreNotConnected)
    return problemOfReason('provider_not_connected', { 'Retry-After': NOT_CONNECTED_RETRY_SECONDS })
  if (error instanceof ProviderMisconfigured) return new Problem('provider_configuration_invalid')
  if (error instanceof TenantLimitExceeded)
    return problemOfReason('share_taken', { 'Retry-After': RETRY_AFTER_SECONDS })
  if (error instanceof LedgerAhead)
    return problemOfReason('ledger_ahead_of_clock', { 'Retry-After': OPERATOR_RETRY_AFTER_SECONDS })
  if (error instanceof KeysMissing || error instanceof CannotOpen)
    return problemOfReason('keys_missing', { 'Retry-After': OPERATOR_RETRY_AFTER_SECONDS })
  if (error instanceof WritesBlocked)
    return problemOfReason('restore_unconfirmed', { 'Retry-After': OPERATOR_RETRY_AFTER_SECONDS })
  if (error instanceof SealsUnwritable)
    return problemOfReason('seals_unwritable', { 'Retry-After': OPERATOR_RETRY_AFTER_SECONDS })
  if (error instanceof Unavailable || isOutage(error))
    return new Problem('unavailable', undefined, { 'Retry-After': RETRY_AFTER_SECONDS })
  // For a path that cannot be decoded, the router throws an error with status 400: no such record exists.
  if ((error as { status?: unknown }).status === 400) return new Problem('not_found')
  return new Problem('internal_error')
}

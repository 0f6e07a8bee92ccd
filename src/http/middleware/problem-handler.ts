import type { ErrorRequestHandler, Response } from 'express'
import { SealsUnwritable } from '#integrity/proofs/checkpoint-files.ts'
import { WritesBlocked } from '#integrity/proofs/installation-watch.ts'
import { LedgerAhead } from '#ledger/ledgers.ts'
import { KeysMissing } from '#ledger/missing-keys.ts'
import { CannotOpen } from '#ledger/personal-fields.ts'
import { TenantLimitExceeded, Unavailable } from '#lib/errors.ts'
import { WrongShardError } from '#lib/moved.ts'
import { ProviderMisconfigured, ProviderUnavailable } from '#payments/provider-port.ts'
import { isOutage } from '#postgres/outage.ts'
import { sendProblem } from '../answer.ts'
import { httpStatusOf, Problem, problemOfReason } from '../problems.ts'
import { routeOf } from './observe.ts'

const RETRY_AFTER_SECONDS = '1'
/** Who is sent away at once, and asks again at once, would take more of the processor than its share: it waits for the answer. */
const SHARE_TAKEN_DELAY_MS = 1_000
/** Another service's trouble takes longer to pass than our own. */
const PROVIDER_RETRY_AFTER_SECONDS = '30'

/** Somebody has to look at it first. */
const OPERATOR_RETRY_AFTER_SECONDS = '60'

/** Sends a problem in the shape of the interface that was called. */
export type AnswerProblem = (response: Response, problem: Problem) => void

export type LogError = (message: string, error: unknown, requestId: string) => void

/**
 * Turns whatever was thrown into an answer, in the shape of API v1 unless another one is given. Nothing of an unexpected
 * error reaches the caller but the request's id.
 */
export function problemHandler(log: LogError, answer: AnswerProblem = answerProblem): ErrorRequestHandler {
  return (error, request, response, _next) => {
    // The rest of the request could not be read, and its caller was told so (unreadable.ts).
    if (response.locals.isRefused) return
    const problem = problemOf(error)
    // All are for the operator to mend.
    if (
      problem.code === 'internal_error' ||
      [ProviderMisconfigured, SealsUnwritable, CannotOpen].some((expected) => error instanceof expected)
    )
      log(`${request.method} ${routeOf(response, request.originalUrl)} failed`, error, response.locals.requestId)
    if (response.headersSent) {
      response.destroy()
      return
    }
    if (error instanceof TenantLimitExceeded)
      setTimeout(() => answerLate(response, problem, answer), SHARE_TAKEN_DELAY_MS)
    else answer(response, problem)
  }
}

/** Meanwhile the rest of the request may have been found unreadable and answered: a second answer, thrown in a timer, would end the process. */
function answerLate(response: Response, problem: Problem, answer: AnswerProblem): void {
  if (response.headersSent || response.locals.isRefused) return
  answer(response, problem)
}

/**
 * The same for an interface: a company that lives elsewhere is left to whoever knows where, as long as nothing was answered (HOME-42); where
 * there is nobody, to the last handler.
 */
export function interfaceProblems(log: LogError, answer: AnswerProblem): ErrorRequestHandler {
  const last = problemHandler(log, answer)
  return (error, request, response, next) => {
    if (error instanceof WrongShardError && !response.headersSent) next(error)
    else last(error, request, response, next)
  }
}

export const answerProblem = (response: Response, problem: Problem): void =>
  sendProblem(response, problem, httpStatusOf(problem.code))

/** The answer that an error becomes. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (error instanceof ProviderUnavailable)
    return new Problem('unavailable', undefined, { 'Retry-After': PROVIDER_RETRY_AFTER_SECONDS })
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
  // The router throws a URIError-like error with status 400 for a path that cannot be decoded: there is no such record.
  if ((error as { status?: unknown }).status === 400) return new Problem('not_found')
  return new Problem('internal_error')
}

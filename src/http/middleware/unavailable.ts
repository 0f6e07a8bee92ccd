import type { RequestHandler } from 'express'
import { Problem } from '../problems.ts'
import type { AnswerProblem } from './failures.ts'

const RETRY_AFTER_SECONDS = '5'

/** Answers 503 for as long as there is nobody yet to answer anything else. */
export function unavailableWhile(isStarting: () => boolean, answer: AnswerProblem): RequestHandler {
  return (_request, response, next) => {
    if (isStarting()) answer(response, new Problem('unavailable', undefined, { 'Retry-After': RETRY_AFTER_SECONDS }))
    else next()
  }
}

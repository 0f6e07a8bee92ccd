import type { Response } from 'express'
import type { z } from 'zod'
import { describeIssues } from '#domain/validation.ts'
import { sendJson } from '#http/answer.ts'
import { Problem } from '#http/problems.ts'
import { type FailureCode, failureMessage, failureOf, failureStatus, tooLarge } from './messages.ts'

/** Messages by field, as they are shown to whoever wrote the till. */
type FieldErrors = Readonly<Record<string, readonly string[]>>

/** Sends `{"success":true, …}`. */
export function sendSuccess(response: Response, rest: object): void {
  sendJson(response, 200, JSON.stringify({ success: true, ...rest }))
}

interface FailureRest {
  readonly errors?: FieldErrors | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends `{success: false, message, errors?}` (DESIGN section 5, Sync interface). */
export function sendFailure(response: Response, code: FailureCode, { errors, headers = {} }: FailureRest = {}): void {
  const status = failureStatus(code)
  if (status === 401) response.setHeader('WWW-Authenticate', 'Bearer')
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  const body = { success: false, message: failureMessage(code), ...(errors ? { errors } : {}) }
  sendJson(response, status, JSON.stringify(body))
}

/** A problem that was thrown, in the shape of this interface. */
export function answerProblem(response: Response, { code, details, headers }: Problem): void {
  sendFailure(response, failureOf(code), { errors: errorsIn(details), headers })
}

function errorsIn(details: Problem['details']): FieldErrors | undefined {
  if (typeof details?.limit_bytes === 'number') return tooLarge(details.limit_bytes)
  return details?.fields as FieldErrors | undefined
}

/** Validates what a till sent. @throws Problem (422) naming every field that is wrong. */
export function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value)
  if (!result.success) throw new Problem('validation_failed', { ...describeIssues(result.error) })
  return result.data
}

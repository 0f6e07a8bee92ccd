import type { Response } from 'express'
import type { Calendar } from '#domain/instant.ts'

/** The company and key that a request was admitted for, and the company's day when it was. */
export interface Caller extends Calendar {
  readonly companyId: number
  readonly keyId: number
}

/** Set by the authentication; a handler never runs without it. */
export const callerOf = (response: Response): Caller => response.locals.caller as Caller

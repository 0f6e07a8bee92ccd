import type { Request, Response } from 'express'
import type { z } from 'zod'
import type { FailureCode } from './answer.ts'

/** Largest body of a login, which needs no authentication. An empty body counts as `{}`. */
export const CREDENTIALS_BYTES = 16_384
/** Largest body of routes that take lists: 5 MB. */
export const LIST_BODY_BYTES = 5 * 1_048_576

/** What a route of the sync interface and its contract have in common. Unknown parameters and fields are ignored. */
export interface SyncOperation {
  readonly method: 'get' | 'post'
  /** Below /api: `/sync/status`. */
  readonly path: string
  /** Needs no token; only other routes may use `tillSessionOf`. */
  readonly isOpen?: true
  /** Reads a JSON body of at most this size into `request.body`; without it bodies are ignored. */
  readonly bodyBytes?: number
  readonly operation: string
  readonly summary: string
  readonly description?: string
  readonly query?: z.ZodObject
  /** Includes the schema of each element of a list, also where elements are validated one by one. */
  readonly body?: z.ZodType
  readonly example?: object
  /** The whole answer. */
  readonly reply: z.ZodType
  /** Failures besides those that follow from authentication, body and query. */
  readonly failures?: readonly FailureCode[]
}

export interface SyncRoute extends SyncOperation {
  /** Answers, or throws a Problem. */
  handle(request: Request, response: Response): Promise<void>
}

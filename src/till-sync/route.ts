import type { Request, Response } from 'express'

/** Largest body of a login, which needs no authentication. An empty body counts as `{}`. */
export const CREDENTIALS_BYTES = 16_384
/** Largest body of routes that take lists: 5 MB. */
export const LIST_BODY_BYTES = 5 * 1_048_576

/** A route of the sync interface. Unknown parameters and fields are ignored. */
export interface SyncRoute {
  readonly method: 'get' | 'post'
  /** Below /api: `/sync/status`. */
  readonly path: string
  /** Needs no token; only other routes may use `tillSessionOf`. */
  readonly isOpen?: true
  /** Reads a JSON body of at most this size into `request.body`; without it bodies are ignored. */
  readonly bodyBytes?: number
  /** Answers, or throws a Problem. */
  handle(request: Request, response: Response): Promise<void>
}

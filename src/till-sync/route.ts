import type { Request, Response } from 'express'

/** Largest body of a login, which anybody may send; an empty one counts as `{}`. */
export const CREDENTIALS_BYTES = 16_384
/** Largest body of routes that take lists: 5 MB. */
export const LIST_BODY_BYTES = 5 * 1_048_576

/** A route of the sync interface. Tills are forgiven: parameters and fields that are not known are ignored. */
export interface SyncRoute {
  readonly method: 'get' | 'post'
  /** Below /api: `/sync/status`. */
  readonly path: string
  /** Needs no token; `sessionOf` is for the others. */
  readonly isOpen?: true
  /** Reads a JSON body of at most so many bytes into `request.body`; whatever is sent to other routes is not looked at. */
  readonly bodyBytes?: number
  /** Answers, or throws a Problem. */
  handle(request: Request, response: Response): Promise<void>
}

/** An answer that is no success, from what takes more than one call; `GET`, `POST` … return it as `error`. */
export class TillbookError extends Error {
  override readonly name = 'TillbookError'
  /** HTTP status; 0 where nothing could be read. */
  readonly status: number
  /** As in the contract: `rate_limited`, `insufficient_scope` … */
  readonly code: string
  readonly requestId: string | null
  /** As the code has them in the contract. */
  readonly details: unknown

  constructor(response: Response, body: unknown) {
    const {
      code = 'unknown',
      message = response.statusText,
      details,
    } = (body as { error?: Problem } | undefined)?.error ?? {}
    super(`${response.status} ${code}: ${message}`)
    this.status = response.status
    this.code = code
    this.details = details
    this.requestId = response.headers.get('X-Request-Id')
  }
}

interface Problem {
  readonly code?: string
  readonly message?: string
  readonly details?: unknown
}

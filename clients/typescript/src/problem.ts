import type { paths } from './schema.ts'

/** Failed response, thrown by operations of several requests and by `ok`; `GET`, `POST` … return it as `error`. */
export class TillbookError extends Error {
  override readonly name = 'TillbookError'
  readonly status: number
  /**
   * Code of the contract: `rate_limited`, `insufficient_scope` …; `unknown` if the response is not from the service.
   */
  readonly code: string
  /** Details of the code, as in the contract: `conflicting_id`, `fields` … */
  readonly details: Readonly<Record<string, unknown>>
  readonly requestId: string | null

  constructor(response: Response, body: unknown) {
    const { error = {} } = ((typeof body === 'object' && body) || {}) as { error?: Said }
    const { code = 'unknown', message = response.statusText, details = {} } = error
    super(`${response.status} ${code}: ${message}`)
    this.status = response.status
    this.code = code
    this.details = details
    this.requestId = response.headers.get('X-Request-Id')
  }
}

interface Said {
  readonly code?: string
  readonly message?: string
  readonly details?: Record<string, unknown>
}

/** Result of a call. */
interface Answered {
  readonly data?: unknown
  readonly error?: unknown
  readonly response: Response
}

/** Response body of a call: `const { data } = await ok(tillbook.GET('/me'))`. @throws TillbookError if it is refused */
export async function ok<A extends Answered>(call: Promise<A>): Promise<Extract<A, { error?: undefined }>['data']> {
  const { data, error, response } = await call
  if (!response.ok) throw new TillbookError(response, error)
  return data as Extract<A, { error?: undefined }>['data']
}

/** All refusals of an operation, distinguished by `code`: `Problem<'/sales', 'post'>`. */
export type Problem<Path extends keyof paths, Method extends keyof paths[Path]> = paths[Path][Method] extends {
  responses: infer Responses
}
  ? {
      [Status in keyof Responses]: Responses[Status] extends { content: { 'application/json': { error: infer P } } }
        ? P
        : never
    }[keyof Responses]
  : never

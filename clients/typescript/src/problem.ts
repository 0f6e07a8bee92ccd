import type { paths } from './schema.ts'

/** An answer that is no success, from what takes more than one call and from `ok`; `GET`, `POST` … return it as `error`. */
export class TillbookError extends Error {
  override readonly name = 'TillbookError'
  readonly status: number
  /** As in the contract: `rate_limited`, `insufficient_scope` …; `unknown` where the answer is not the service's. */
  readonly code: string
  /** What the code tells beyond its name, as the contract has it: `conflicting_id`, `fields` … */
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

/** What a call answers with. */
interface Answered {
  readonly data?: unknown
  readonly error?: unknown
  readonly response: Response
}

/** The answer of a call: `const { data } = await ok(tillbook.GET('/me'))`. @throws TillbookError where it is refused */
export async function ok<A extends Answered>(call: Promise<A>): Promise<Extract<A, { error?: undefined }>['data']> {
  const { data, error, response } = await call
  if (!response.ok) throw new TillbookError(response, error)
  return data as Extract<A, { error?: undefined }>['data']
}

/** All that an operation may be refused with, told apart by `code`: `Problem<'/sales', 'post'>`. */
export type Problem<Path extends keyof paths, Method extends keyof paths[Path]> = paths[Path][Method] extends {
  responses: infer Responses
}
  ? {
      [Status in keyof Responses]: Responses[Status] extends { content: { 'application/json': { error: infer P } } }
        ? P
        : never
    }[keyof Responses]
  : never

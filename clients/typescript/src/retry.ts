/** Retry policy. Times are in milliseconds. */
export interface Retries {
  /** Attempts after the first one. */
  readonly times: number
  /** First pause; each further one is twice as long. */
  readonly firstPauseMs: number
  readonly longestPauseMs: number
}

export const RETRIES: Retries = { times: 4, firstPauseMs: 500, longestPauseMs: 60_000 }

/** Temporary refusals: too many requests, and an unavailable service. */
export const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** A read takes no Idempotency-Key. */
export const isRead = ({ method }: Request): boolean => method === 'GET' || method === 'HEAD'

/** Reads, and writes with a key, which a second attempt does not repeat. */
const isRepeatable = (request: Request): boolean => isRead(request) || request.headers.has('Idempotency-Key')

export type Fetch = (request: Request) => Promise<Response>

/**
 * Retries lost and temporarily refused calls, after `Retry-After` or after growing pauses with a random part, so that
 * clients disconnected together do not return together.
 */
export function retrying(fetch: Fetch, { times, firstPauseMs, longestPauseMs }: Retries): Fetch {
  const pauseMs = (attempt: number) => Math.min(longestPauseMs, firstPauseMs * 2 ** attempt) * (0.5 + Math.random() / 2)
  return async (request) => {
    for (let attempt = 0; ; attempt++) {
      const isLast = attempt >= times || !isRepeatable(request)
      // A body can be sent once, so each attempt sends a copy.
      const answer = await fetch(isLast ? request : request.clone()).catch((error: unknown) => {
        if (isLast || request.signal.aborted) throw error
        return null
      })
      if (answer && (isLast || !PASSING.has(answer.status))) return answer
      const asked = answer && retryAfterMs(answer)
      if (answer && asked !== null && asked > longestPauseMs) return answer
      await answer?.body?.cancel()
      await pause(asked ?? pauseMs(attempt), request.signal)
    }
  }
}

/** `Retry-After` of a refusal in milliseconds; null without one. */
function retryAfterMs({ headers }: Response): number | null {
  const given = headers.get('Retry-After')
  if (given === null) return null
  const seconds = Number(given)
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(given) - Date.now()
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}

/** @throws the signal's reason as soon as it is aborted */
export function pause(ms: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}

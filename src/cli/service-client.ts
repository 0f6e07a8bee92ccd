import { detailsInEnglish, refusalInEnglish } from './english.ts'

/** Client of a service: base URL and API key of a company. */
export interface ServiceClient {
  /**
   * Returns JSON and the revision of the answer. @throws RequestRefused if it refuses, ServiceUnreachable if it is away
   */
  call(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<ServiceAnswer>
  /** Returns the raw answer, whatever its status. @throws on connection errors */
  open(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response>
}

export interface ServiceAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: the contract says the shape to the caller
  readonly data: any
  readonly revision: number
}

/**
 * The request was refused, and repeating it would not help: `code`, with a message of the service or of this client.
 */
export class RequestRefused extends Error {
  override readonly name = 'Ended'
  constructor(
    readonly code: string,
    message: string,
    readonly details?: Readonly<Record<string, unknown>>,
  ) {
    super(message)
  }
}

/** The service did not answer, or cannot at present. */
export class ServiceUnreachable extends Error {
  override readonly name = 'OutOfReach'
  constructor(
    readonly reason: string,
    /** Pause that the service asks for; null if it does not. */
    readonly retryAfterMs: number | null,
  ) {
    super(`The service is away (${reason}).`)
  }
}

/** Statuses after which a retry may succeed. */
const RETRYABLE_STATUSES = [429, 500, 502, 503, 504]

/** Longest time for an answer. */
const TIMEOUT_MS = 30_000

export function createServiceClient(base: string, key: string, newKey: () => string): ServiceClient {
  const send = async (path: string, init: RequestInit): Promise<Response> => {
    const headers = { Authorization: `Bearer ${key}`, ...(init.headers as Record<string, string>) }
    try {
      // The key must not follow a redirect to another address.
      return await fetch(`${base}/api/v1${path}`, { ...init, headers, redirect: 'error' })
    } catch (error) {
      if (error instanceof TypeError || (error as Error).name === 'TimeoutError') throw toUnreachable(error as Error)
      throw error
    }
  }
  return {
    async call(method, path, body) {
      const headers = {
        ...(body && { 'Content-Type': 'application/json' }),
        ...(method !== 'GET' && { 'Idempotency-Key': newKey() }),
      }
      const signal = AbortSignal.timeout(TIMEOUT_MS)
      const response = await send(path, { method, headers, signal, ...(body && { body: JSON.stringify(body) }) })
      if (!response.ok) throw await toServiceRefusal(response)
      const text = await response.text()
      return {
        data: text === '' ? null : JSON.parse(text).data,
        revision: Number(response.headers.get('X-Ledger-Revision')),
      }
    },
    open: (path, headers, signal) => send(path, { headers, signal }),
  }
}

function toUnreachable(error: Error): ServiceUnreachable {
  const { code } = (error.cause ?? {}) as { code?: string }
  return new ServiceUnreachable(code ?? error.message, null)
}

/** The error of an unsuccessful answer. */
export async function toServiceRefusal(response: Response): Promise<RequestRefused | ServiceUnreachable> {
  const { status, headers } = response
  const { error } = ((await response.json().catch(() => null)) ?? {}) as { error?: Partial<RequestRefused> }
  const code = error?.code ?? `http_${status}`
  const seconds = Number(headers.get('Retry-After') ?? Number.NaN)
  if (RETRYABLE_STATUSES.includes(status))
    return new ServiceUnreachable(code, Number.isFinite(seconds) ? seconds * 1000 : null)
  return requestRefusal(status, error)
}

/** The error of an answer that no retry would change. */
export function requestRefusal(status: number, error: Partial<RequestRefused> | undefined): RequestRefused {
  const code = error?.code ?? `http_${status}`
  const message = refusalInEnglish(code) ?? `The service answered ${status} ${code}.`
  return new RequestRefused(code, message, detailsInEnglish(error?.details))
}

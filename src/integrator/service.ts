/** A service as an integrator reaches it: by its address and a key of a company. */
export interface Service {
  /** JSON, with the revision that the answer shows. @throws Ended where it refuses, OutOfReach where it is away */
  call(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<Answer>
  /** The answer itself, whatever it is. @throws where there is none */
  open(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response>
}

export interface Answer {
  // biome-ignore lint/suspicious/noExplicitAny: whoever calls knows the shape by the contract
  readonly data: any
  readonly revision: number
}

/** Somebody has said something that asking again would not change: by `code`, in the words of the service or our own. */
export class Ended extends Error {
  override readonly name = 'Ended'
  constructor(
    readonly code: string,
    message: string,
    readonly details?: Readonly<Record<string, unknown>>,
  ) {
    super(message)
  }
}

/** Nobody has answered, or the service cannot at the moment. */
export class OutOfReach extends Error {
  override readonly name = 'OutOfReach'
  constructor(
    readonly reason: string,
    /** As the service asks to be left alone; null where it does not. */
    readonly retryAfterMs: number | null,
  ) {
    super(`The service is away (${reason}).`)
  }
}

/** Answers after which the same call may be answered otherwise. */
const PASSING = [429, 500, 502, 503, 504]

/** Longest time for an answer. */
const TIMEOUT_MS = 30_000

export function createService(base: string, key: string, newKey: () => string): Service {
  const send = async (path: string, init: RequestInit): Promise<Response> => {
    const headers = { Authorization: `Bearer ${key}`, ...(init.headers as Record<string, string>) }
    try {
      // The key is for this address, and no other.
      return await fetch(`${base}/api/v1${path}`, { ...init, headers, redirect: 'error' })
    } catch (error) {
      if (error instanceof TypeError || (error as Error).name === 'TimeoutError') throw awayBy(error as Error)
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
      if (!response.ok) throw await refusalOf(response)
      const text = await response.text()
      return {
        data: text === '' ? null : JSON.parse(text).data,
        revision: Number(response.headers.get('X-Ledger-Revision')),
      }
    },
    open: (path, headers, signal) => send(path, { headers, signal }),
  }
}

function awayBy(error: Error): OutOfReach {
  const { code } = (error.cause ?? {}) as { code?: string }
  return new OutOfReach(code ?? error.message, null)
}

/** What an answer that is no success means. */
export async function refusalOf(response: Response): Promise<Ended | OutOfReach> {
  const { status, headers } = response
  const { error } = ((await response.json().catch(() => null)) ?? {}) as { error?: Partial<Ended> }
  const code = error?.code ?? `http_${status}`
  const seconds = Number(headers.get('Retry-After') ?? Number.NaN)
  if (PASSING.includes(status)) return new OutOfReach(code, Number.isFinite(seconds) ? seconds * 1000 : null)
  return new Ended(code, error?.message ?? `The service answered ${status}.`, error?.details)
}

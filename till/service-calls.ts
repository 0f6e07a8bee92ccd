/** An answer of the service that is no success. `status` 0: none came. */
export class ServiceError extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** Of `Retry-After`. */
    readonly retryAfterSeconds: number | null,
    readonly data: { readonly companies?: readonly { readonly id: number; readonly name: string }[] } = {},
  ) {
    super(message)
  }
}

const TIMEOUT_MS = 30_000
/** A first download has 50,000 products. */
const DOWNLOAD_TIMEOUT_MS = 180_000

export interface CallOptions {
  readonly body?: object
  readonly token?: string | null
  /** `{id}/{last number}` of the till. */
  readonly till?: string | null
  readonly isDownload?: boolean
}

/** One call, a POST if it has a body. @throws ServiceError */
export async function callService<T>(path: string, { body, token, till, isDownload }: CallOptions): Promise<T> {
  const headers: Record<string, string> = { Accept: 'application/json' }
  if (token) headers.Authorization = `Bearer ${token}`
  if (till) headers.Till = till
  if (body) headers['Content-Type'] = 'application/json'
  let response: Response
  let answer: { message?: string; data?: ServiceError['data'] }
  try {
    response = await fetch(`/api${path}`, {
      method: body ? 'POST' : 'GET',
      headers,
      cache: 'no-store',
      body: body ? JSON.stringify(body) : null,
      signal: AbortSignal.timeout(isDownload ? DOWNLOAD_TIMEOUT_MS : TIMEOUT_MS),
    })
    answer = await response.json()
  } catch {
    throw new ServiceError(0, 'Sem conexão com o Tillbook.', null)
  }
  if (response.ok) return answer as T
  const wait = Number(response.headers.get('Retry-After'))
  throw new ServiceError(
    response.status,
    answer.message ?? `O serviço respondeu ${response.status}.`,
    wait > 0 ? wait : null,
    answer.data,
  )
}

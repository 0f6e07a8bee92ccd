import { AttestorFailed } from './attestor.ts'

/** Limit from the request to the last byte of the response. */
const TIMEOUT_MS = 15_000
/** Limit of the response body. Time stamps with a long certificate chain have about 10 KB. */
const MAX_BYTES = 65_536
/** Length of an error body quoted to the operator. */
const QUOTED_CHARS = 200

/** Loaded at the first request: commands that send none start in three quarters of the time. */
const connections = () => import('./attestor-connections.ts')

interface Call {
  readonly method: 'POST' | 'PUT'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | Buffer
  /** Aborts the request. */
  readonly signal: AbortSignal
  readonly timeout_ms?: number | undefined
}

export interface AttestorAnswer {
  readonly status: number
  readonly body: Buffer
}

/**
 * Sends a request to an attestor at the configured address: no redirects, no cookies, bounded time and size. @throws
 * AttestorFailed
 */
export async function callAttestor({
  url,
  signal,
  timeout_ms = TIMEOUT_MS,
  ...options
}: Call): Promise<AttestorAnswer> {
  try {
    const { sendRequest } = await connections()
    const ends = AbortSignal.any([signal, AbortSignal.timeout(timeout_ms)])
    const { statusCode, body } = await sendRequest(url, { ...options, signal: ends })
    return { status: statusCode, body: await bounded(body) }
  } catch (error) {
    if (error instanceof AttestorFailed) throw error
    throw new AttestorFailed('unreachable', `no answer: ${(error as Error).message}`, { cause: error })
  }
}

async function bounded(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new AttestorFailed('wrong_answer', `the answer has more than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Classifies a response without a token: rate limits and server errors count as unreachable and are retried. */
export function failureOf({ status, body }: AttestorAnswer): AttestorFailed {
  const quoted = body
    .toString()
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, QUOTED_CHARS)
  const isPassing = status >= 500 || status === 408 || status === 425 || status === 429
  return new AttestorFailed(isPassing ? 'unreachable' : 'refused', `answered ${status}${quoted && `: ${quoted}`}`)
}

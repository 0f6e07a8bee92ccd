import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'

/** Response to a call. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  // biome-ignore lint/suspicious/noExplicitAny: each caller knows the shape of its answer
  readonly body: any
}

export interface Call {
  readonly method: 'GET' | 'POST'
  /** Path below /api, with query. */
  readonly path: string
  readonly body?: object
  readonly token?: string
}

/** Connection failure or time-out: the request may have arrived. */
export class LineBroken extends Error {
  override readonly name = 'LineBroken'
}

/**
 * Moment of a simulated connection failure: with half of the body sent; with all of it sent, so that it may be
 * processed or not; or during the response, so that it was processed and the till does not know.
 */
type Break = 'while sending' | 'after sending' | 'while receiving'

export interface Line {
  /** Sends a request and returns its response, with any status. @throws LineBroken */
  send(call: Call): Promise<Answer>
  /** Breaks the next request by destroying its socket, then calls `then`. */
  breakNext(when: Break, then?: () => void): void
}

/** Recommended by the documentation of the till sync. */
const TIMEOUT_MS = 30_000
/** A catalog of 50,000 products takes about 10 MB. */
const MAX_ANSWER_BYTES = 64 * 1_048_576

/** The panel shows it with the till's last contact. */
const TILL_VERSION = 'tillbook-till 1.0'

/** HTTP client for a service. */
export function createLine(baseUrl: string): Line {
  const request = baseUrl.startsWith('https:') ? requestHttps : requestHttp
  let next: { when: Break; then: () => void } | null = null
  return {
    breakNext(when, then = () => {}) {
      next = { when, then }
    },
    send(call) {
      const text = call.body && JSON.stringify(call.body)
      const breaking = next
      next = null
      return new Promise((resolve, reject) => {
        const fail = (error: Error) => reject(new LineBroken(error.message, { cause: error }))
        const outgoing = request(`${baseUrl}/api${call.path}`, {
          method: call.method,
          headers: headersOf(call, text),
          signal: AbortSignal.timeout(TIMEOUT_MS),
        })
        const cut = () => {
          fail(new Error(`connection broken on purpose ${breaking?.when}`))
          outgoing.destroy()
          breaking?.then()
        }
        outgoing.on('error', fail)
        outgoing.once('response', (response) => {
          response.on('error', fail)
          if (breaking?.when === 'while receiving') cut()
          else void readAnswer(response).then(resolve, fail)
        })
        write(outgoing, Buffer.from(text ?? ''), breaking?.when, cut)
      })
    },
  }
}

/** Sends a body up to the simulated failure; the callbacks run once the operating system has the written bytes. */
function write(outgoing: ClientRequest, body: Buffer, breaks: Break | undefined, cut: () => void): void {
  if (breaks === 'while sending') outgoing.write(body.subarray(0, body.length >> 1), cut)
  else outgoing.end(body, breaks === 'after sending' ? cut : undefined)
}

function headersOf({ token }: Call, text: string | undefined): Record<string, string | number> {
  return {
    accept: 'application/json',
    'till-version': TILL_VERSION,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
  }
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_ANSWER_BYTES) throw new Error(`response larger than ${MAX_ANSWER_BYTES} bytes`)
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString('utf8')
  return { status: response.statusCode ?? 0, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

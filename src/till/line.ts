import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'

/** What came back over the line. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  // biome-ignore lint/suspicious/noExplicitAny: each caller knows the shape of its answer
  readonly body: any
}

export interface Call {
  readonly method: 'GET' | 'POST'
  /** Below /api, with its query. */
  readonly path: string
  readonly body?: object
  readonly token?: string
}

/** The line broke, or nothing came over it in time: whatever was sent may have arrived. */
export class LineBroken extends Error {
  override readonly name = 'LineBroken'
}

/** When a line breaks, to try out what a till does then: with half of the body sent, or with all of it, before the answer. */
export type Break = 'while sending' | 'before the answer'

export interface Line {
  /** One request, one answer, of whatever status. @throws LineBroken */
  send(call: Call): Promise<Answer>
  /** Lets the next request break. The socket is really destroyed; `then` is called at that moment. */
  breakNext(when: Break, then?: () => void): void
}

/** What the documentation of the sync interface recommends. */
const TIMEOUT_MS = 30_000
/** A catalog of 50,000 products has some 10 MB. */
const MAX_ANSWER_BYTES = 64 * 1_048_576

/** HTTP to the service whose address is given. */
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
        outgoing.once('error', fail)
        outgoing.once('response', (response) => void readAnswer(response).then(resolve, fail))
        if (breaking) sendAndBreak(outgoing, text ?? '', breaking)
        else outgoing.end(text)
      })
    },
  }
}

function headersOf({ token }: Call, text: string | undefined): Record<string, string | number> {
  return {
    accept: 'application/json',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
  }
}

function sendAndBreak(outgoing: ClientRequest, text: string, { when, then }: { when: Break; then: () => void }): void {
  const cut = () => {
    outgoing.destroy(new Error(`the line broke ${when}`))
    then()
  }
  const bytes = Buffer.from(text)
  if (when === 'while sending') outgoing.write(bytes.subarray(0, bytes.length >> 1), cut)
  // Called when the operating system has all of it.
  else outgoing.end(bytes, cut)
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_ANSWER_BYTES) throw new Error('the answer is too large')
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString('utf8')
  return { status: response.statusCode ?? 0, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

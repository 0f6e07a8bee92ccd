import { request } from 'node:http'
import type { Reply } from './api.ts'

interface RawRequest {
  readonly method?: string
  /** Sent unchanged; `fetch` would normalize it. */
  readonly path: string
  /** Sent unchanged, Host included. */
  readonly headers?: Record<string, string>
  readonly body?: string | Buffer
  /** Sends the body in chunks, without announcing its length. */
  readonly chunked?: boolean
}

/** With the raw body, which may be compressed. */
interface RawReply extends Reply {
  readonly bytes: Buffer
}

/** An HTTP request that is sent unchanged: nothing is added, corrected or escaped. */
export function rawRequest(
  baseUrl: string,
  { method = 'GET', path, headers = {}, body, chunked }: RawRequest,
): Promise<RawReply> {
  const { hostname, port } = new URL(baseUrl)
  const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(body)
  const length: Record<string, string> = chunked
    ? { 'transfer-encoding': 'chunked' }
    : body === undefined
      ? {}
      : { 'content-length': String(bytes.length) }
  return new Promise((resolve, reject) => {
    const sent = request(
      { hostname, port, method, path, headers: { ...length, ...headers }, agent: false },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const bytesReceived = Buffer.concat(chunks)
          const text = bytesReceived.toString()
          const received = new Headers()
          for (const [name, value] of Object.entries(response.headers)) received.set(name, String(value))
          const isJson =
            received.get('content-type')?.startsWith('application/json') &&
            text !== '' &&
            !received.has('content-encoding')
          resolve({
            status: response.statusCode ?? 0,
            headers: received,
            text,
            bytes: bytesReceived,
            body: isJson ? JSON.parse(text) : null,
          })
        })
      },
    )
    sent.on('error', reject)
    sent.end(bytes)
  })
}

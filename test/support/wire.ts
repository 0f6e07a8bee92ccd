import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Reply } from './api.ts'
import { until } from './wait.ts'

/** A raw connection: sends exactly the written bytes. */
export interface Wire {
  readonly socket: Socket
  write(bytes: string | Buffer): void
  /** Complete responses so far. `HEAD` responses have no body. */
  answers(): Reply[]
  /** Waits until this number of responses is complete; rejects on a time-out or if the connection ends earlier. */
  answered(count: number, timeout_ms?: number): Promise<Reply[]>
  /** Resolves once the service has closed the connection. */
  ended(timeout_ms?: number): Promise<void>
  close(): void
}

/** A request without a response within this time counts as stuck. */
const STUCK_MS = 15_000

export async function openWire(url: string, { isHead = false } = {}): Promise<Wire> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const chunks: Buffer[] = []
  let isEnded = false
  socket.on('data', (chunk) => chunks.push(chunk))
  // Received responses stay; a service may reset the connection after a response.
  socket.on('error', () => {})
  socket.on('end', () => socket.end())
  socket.on('close', () => {
    isEnded = true
  })
  await once(socket, 'connect')
  let seen = { chunks: -1, isEnded: false, found: [] as Reply[] }
  const answers = (): Reply[] => {
    if (seen.chunks !== chunks.length || seen.isEnded !== isEnded) {
      seen = { chunks: chunks.length, isEnded, found: answersIn(Buffer.concat(chunks), isHead, isEnded) }
    }
    return seen.found
  }
  return {
    socket,
    write: (bytes) => void (socket.writable && socket.write(bytes)),
    answers,
    async answered(count, timeout_ms = STUCK_MS) {
      await until(() => isEnded || answers().length >= count, { timeout_ms, interval_ms: 2, what: 'an answer' })
      const found = answers()
      if (found.length < count) {
        throw new Error(
          `the connection ended after ${found.length} answers:\n${Buffer.concat(chunks).subarray(0, 500)}`,
        )
      }
      return found
    },
    async ended(timeout_ms = STUCK_MS) {
      await until(() => isEnded, { timeout_ms, interval_ms: 2, what: 'the end of the connection' })
    },
    close: () => socket.destroy(),
  }
}

/** Sends bytes on a separate connection, and returns the response. */
export async function exchange(
  url: string,
  bytes: string | Buffer,
  options: { isHead?: boolean; wait_budget_ms?: number } = {},
): Promise<Reply> {
  const wire = await openWire(url, options)
  try {
    wire.write(bytes)
    return (await wire.answered(1, options.wait_budget_ms))[0] as Reply
  } finally {
    wire.close()
  }
}

/** Raw request. Only mandatory headers are added. */
export interface RawCall {
  readonly method: string
  readonly path: string
  /** A list, so that a name may occur twice. */
  readonly headers?: readonly (readonly [name: string, value: string])[]
  readonly body?: string | Buffer
}

export function bytesOf({ method, path, headers = [], body }: RawCall): Buffer {
  const bytes = Buffer.from(body ?? '')
  const has = (wanted: string) => headers.some(([name]) => name.toLowerCase() === wanted)
  const own: (readonly [string, string])[] = [
    ...(has('host') ? [] : [['Host', '127.0.0.1'] as const]),
    ...(body === undefined || has('content-length') || has('transfer-encoding')
      ? []
      : [['Content-Length', String(bytes.length)] as const]),
  ]
  const lines = [...own, ...headers].map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1'), bytes])
}

function answersIn(bytes: Buffer, isHead: boolean, isEnded: boolean): Reply[] {
  const found: Reply[] = []
  let at = 0
  for (;;) {
    const end = bytes.indexOf('\r\n\r\n', at)
    if (end < 0) return found
    const [line = '', ...fields] = bytes.subarray(at, end).toString('latin1').split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1])
    if (!status) throw new Error(`this is no answer: ${line.slice(0, 200)}`)
    at = end + 4
    // "100 Continue" precedes the response.
    if (status < 200) continue
    const headers = new Headers(fields.map((field) => splitField(field)))
    const isBodiless = isHead || status === 204 || status === 304
    const body = isBodiless ? { text: '', next: at } : bodyAt(bytes, at, headers, isEnded)
    if (!body) return found
    at = body.next
    const isJson = headers.get('content-type')?.startsWith('application/json') && body.text !== ''
    found.push({ status, headers, text: body.text, body: isJson ? JSON.parse(body.text) : null })
  }
}

function splitField(field: string): [string, string] {
  const colon = field.indexOf(':')
  return [field.slice(0, colon), field.slice(colon + 1).trim()]
}

/** Null while it is incomplete. */
function bodyAt(bytes: Buffer, at: number, headers: Headers, isEnded: boolean): { text: string; next: number } | null {
  if (headers.get('transfer-encoding') === 'chunked') return chunksAt(bytes, at)
  const length = headers.get('content-length')
  if (length === null) return isEnded ? { text: bytes.subarray(at).toString(), next: bytes.length } : null
  const next = at + Number(length)
  return next > bytes.length ? null : { text: bytes.subarray(at, next).toString(), next }
}

function chunksAt(bytes: Buffer, start: number): { text: string; next: number } | null {
  const parts: Buffer[] = []
  let at = start
  for (;;) {
    const end = bytes.indexOf('\r\n', at)
    if (end < 0) return null
    const size = Number.parseInt(bytes.subarray(at, end).toString(), 16)
    const next = end + 2 + size + 2
    if (next > bytes.length) return null
    if (size === 0) return { text: Buffer.concat(parts).toString(), next }
    parts.push(bytes.subarray(end + 2, end + 2 + size))
    at = next
  }
}

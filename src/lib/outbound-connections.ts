import type { Socket } from 'node:net'
import type { buildConnector } from 'undici'

type Connector = buildConnector.connector

/** The peer answered 101: it left HTTP, which no request had offered. */
export class ProtocolSwitched extends Error {
  override readonly name = 'ProtocolSwitched'
}

/** Of the status line up to the status. */
const STATUS_BYTES = 'HTTP/1.1 100'.length
/** Undici's bound of a head. */
const MAX_HEAD_BYTES = 16_384
/** Bound of interim answers before a final one. */
const MAX_INTERIM = 100
const NOTHING: Buffer = Buffer.alloc(0)

const staleErrors = new WeakSet<object>()

/**
 * Whether a reused connection ended before a byte of the answer arrived: the server closed an idle connection while the
 * request was on its way. False for every error of a fresh connection.
 */
export const isStaleConnection = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && staleErrors.has(error)

/**
 * Connections whose interim answers (1xx, RFC 9110 15.2) are passed over: undici ends a connection at a 100 that it did
 * not request, which servers and proxies send nevertheless. A 101 fails with ProtocolSwitched. For HTTP/1.1 without
 * pipelining.
 */
export const passingInterimAnswers =
  (connect: Connector): Connector =>
  (options, callback) =>
    connect(options, (error, socket) => {
      if (error !== null) return callback(error, null)
      watchAnswers(socket)
      callback(null, socket)
    })

/** Must run before undici listens to the socket, so that errors are classified first. */
function watchAnswers(socket: Socket): void {
  const readBytes: (size?: number) => Buffer | null = socket.read.bind(socket)
  // `bytesWritten` when the last bytes arrived; if it has grown since, a request waits for its answer.
  let written = 0
  let hasAnswered = false
  let isFinal = false
  let interim = 0
  let head = NOTHING

  /** Bytes of the final answer in a chunk. */
  function pass(chunk: Buffer): Buffer {
    if (socket.bytesWritten !== written) {
      written = socket.bytesWritten
      isFinal = false
      interim = 0
    }
    if (isFinal) return chunk
    head = head.length === 0 ? chunk : Buffer.concat([head, chunk])
    while (interim < MAX_INTERIM && isInterim(head)) {
      const end = head.indexOf('\r\n\r\n')
      if (head.length >= STATUS_BYTES && head.toString('latin1', 9, STATUS_BYTES) === '101') {
        socket.destroy(new ProtocolSwitched('the peer switched protocols'))
        return NOTHING
      }
      if (end < 0 && head.length <= MAX_HEAD_BYTES) return NOTHING
      if (end < 0) break
      head = head.subarray(end + 4)
      interim += 1
      if (head.length === 0) return NOTHING
    }
    isFinal = true
    hasAnswered = true
    const rest = head
    head = NOTHING
    return rest
  }

  socket.on('error', (error) => {
    if (hasAnswered && socket.bytesWritten !== written) staleErrors.add(error)
  })
  socket.read = (size?: number) => {
    for (let chunk = readBytes(size); chunk !== null; chunk = readBytes(size)) {
      const rest = pass(chunk)
      if (rest.length > 0) return rest
    }
    return null
  }
}

/** Whether an answer begins, as far as it has arrived, with an interim status. */
function isInterim(head: Buffer): boolean {
  const line = head.toString('latin1', 0, STATUS_BYTES)
  return /^HTTP\/1\.[01] 1\d\d/.test(line + 'HTTP/1.1 100'.slice(line.length))
}

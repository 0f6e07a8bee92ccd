import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** Minimum rate of a request body (HTTP-30). */
export interface Pace {
  /** Time limit for the whole body, from the end of the headers. */
  readonly body_ms: number
  /** After this time, the minimum rate applies to each further second. */
  readonly grace_ms: number
  readonly bytesPerSecond: number
  /** Interval between checks after the grace period. */
  readonly look_ms: number
}

/**
 * Calls `onLate` once if the body of a request arrives too slowly. Returns a function that ends the watch. Bytes that
 * arrived but were not read yet count too. Time counts from the first read, so that a delay of the service does not
 * count against the client.
 */
export function watchPace(request: IncomingMessage, pace: Pace, onLate: () => void): () => void {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  if (encoding === undefined && Number(length ?? 0) === 0) return () => {}
  const { socket } = request
  let [began, before] = [performance.now(), socket.bytesRead]
  const look = () => {
    if (request.complete) return
    // The request waits in a queue (large-requests.ts), so its sender cannot continue.
    if (request.readableFlowing === null) [began, before] = [performance.now(), socket.bytesRead]
    const passed = performance.now() - began
    const due = ((passed - pace.grace_ms) / 1000) * pace.bytesPerSecond
    if (passed >= pace.body_ms || socket.bytesRead - before < due) onLate()
    else timer = setTimeout(look, pace.look_ms)
  }
  let timer = setTimeout(look, pace.grace_ms + pace.look_ms)
  return () => clearTimeout(timer)
}

/** Minimum rate at which a client reads an answer (OPS-26). */
export interface ReaderPace {
  /** Bytes per second, averaged over `reader_ms`. */
  readonly readerBytesPerSecond: number
  /** Averaging period, in which data was always pending. */
  readonly reader_ms: number
  /** Interval between checks. */
  readonly look_ms: number
}

/** Bytes taken when a connection began to wait for its reader. */
interface Waiting {
  readonly began: number
  readonly taken: number
}

/**
 * Calls `onLate` for each connection whose client reads too slowly. A connection without pending data is not late: its
 * answer is still being made. Returns a function that ends the watch.
 */
export function watchReaders(
  sockets: ReadonlySet<Socket>,
  pace: ReaderPace,
  onLate: (socket: Socket) => void,
): () => void {
  const waiting = new WeakMap<Socket, Waiting>()

  function look(socket: Socket, now: number): void {
    const pending = socket.writableLength
    if (pending === 0) return void waiting.delete(socket)
    const taken = socket.bytesWritten - pending
    const since = waiting.get(socket)
    if (!since) return void waiting.set(socket, { began: now, taken })
    const passed = now - since.began
    if (passed < pace.reader_ms) return
    const due = (passed / 1000) * pace.readerBytesPerSecond
    if (taken - since.taken >= due) waiting.set(socket, { began: now, taken })
    // A chunk counts as taken once it is taken completely; progress within a pending chunk is unknown.
    else if (taken - since.taken + pending < due) onLate(socket)
  }

  const timer = setInterval(() => {
    const now = performance.now()
    for (const socket of sockets) look(socket, now)
  }, pace.look_ms).unref()
  return () => clearInterval(timer)
}

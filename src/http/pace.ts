import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** How a body has to arrive (HTTP-30). */
export interface Pace {
  /** All of it within this, from the end of its headers. */
  readonly body_ms: number
  /** After this, so many bytes for each second since. */
  readonly grace_ms: number
  readonly bytesPerSecond: number
  /** How often that is looked at, once the grace is over. */
  readonly look_ms: number
}

/**
 * Calls `onLate` once if the body of a request comes too slowly. Returns what ends the watch. What has arrived and was not
 * read yet counts as well, and time begins when somebody reads, so that nobody is late because the service is.
 */
export function watchPace(request: IncomingMessage, pace: Pace, onLate: () => void): () => void {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  if (encoding === undefined && Number(length ?? 0) === 0) return () => {}
  const { socket } = request
  let [began, before] = [performance.now(), socket.bytesRead]
  const look = () => {
    if (request.complete) return
    // Nobody reads it yet: it waits for its turn (large-calls.ts), and its sender cannot go on.
    if (request.readableFlowing === null) [began, before] = [performance.now(), socket.bytesRead]
    const passed = performance.now() - began
    const due = ((passed - pace.grace_ms) / 1000) * pace.bytesPerSecond
    if (passed >= pace.body_ms || socket.bytesRead - before < due) onLate()
    else timer = setTimeout(look, pace.look_ms)
  }
  let timer = setTimeout(look, pace.grace_ms + pace.look_ms)
  return () => clearTimeout(timer)
}

/** How an answer has to be taken (OPS-26). */
export interface ReaderPace {
  /** So many bytes a second… */
  readonly readerBytesPerSecond: number
  /** … on average of this time in which something always waited to be taken. */
  readonly reader_ms: number
  /** How often that is looked at. */
  readonly look_ms: number
}

/** What had been taken when a connection began to wait for its reader. */
interface Waiting {
  readonly began: number
  readonly taken: number
}

/**
 * Calls `onLate` for each connection whose reader takes what was sent too slowly, whatever is sent. A connection on which nothing waits is
 * not late: its answer is being made. Returns what ends the watch.
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
    // A piece counts as taken when all of it is: of what is pending nobody knows how much was.
    else if (taken - since.taken + pending < due) onLate(socket)
  }

  const timer = setInterval(() => {
    const now = performance.now()
    for (const socket of sockets) look(socket, now)
  }, pace.look_ms).unref()
  return () => clearInterval(timer)
}

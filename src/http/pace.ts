import type { IncomingMessage } from 'node:http'

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

import { Socket } from 'node:net'

/**
 * Counts the round trips of a process from inside, since its start. A measured process loads this before its program
 * (`--import`) and answers each message with the number; the service itself does not contain it. It costs about 2 µs per
 * socket write.
 */

/** Node's function for each write system call. */
type Write = (this: Socket, ...data: unknown[]) => unknown

/**
 * Number of times a connection to Postgres sent something after it had received something: each is at least one wait.
 *
 * @param port - of Postgres
 */
export function countRoundTrips(port: number): () => number {
  let roundTrips = 0
  /** Bytes that each connection had received when it last sent. */
  const received = new WeakMap<Socket, number>()
  const hooked = Socket.prototype as unknown as { _writeGeneric: Write }
  const write = hooked._writeGeneric
  hooked._writeGeneric = function (...data) {
    if (this.remotePort === port) {
      if (received.get(this) !== this.bytesRead) roundTrips += 1
      received.set(this, this.bytesRead)
    }
    return write.apply(this, data)
  }
  return () => roundTrips
}

const { COUNTED_PORT } = process.env
if (COUNTED_PORT && process.channel) {
  const count = countRoundTrips(Number(COUNTED_PORT))
  process.on('message', () => process.send?.(count()))
  process.channel.unref()
}

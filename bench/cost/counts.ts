import { Socket } from 'node:net'
import { GCProfiler, getHeapStatistics } from 'node:v8'

/**
 * Counts what a process does, from inside it and since it began. A process that is measured loads this before its program;
 * nothing of it is in the service itself. It costs some 2 µs for each write to a socket, and as much for each collection of garbage.
 */

/** All of them only grow. */
export interface Counts {
  /** Times that a connection to Postgres sent something after it had heard something: each is at least one wait. */
  readonly round_trips: number
  /** Told to be executed, whether or not anybody waited for the one before. */
  readonly statements: number
  /** System calls that write: to Postgres, and to all other sockets. */
  readonly postgres_writes: number
  readonly other_writes: number
  /** Put on the heap of this thread, by the sizes before and after each collection. */
  readonly allocated_bytes: number
}

interface Chunk {
  readonly chunk: Buffer | string
}
/** What Node calls for each system call that writes. */
type Write = (this: Socket, several: boolean, data: Buffer | string | readonly Chunk[], ...others: unknown[]) => unknown

/** A connection to Postgres, when it last wrote. */
interface Spoken {
  bytesRead: number
}

const QUERY = 0x51
const EXECUTE = 0x45

const totals = { round_trips: 0, statements: 0, postgres_writes: 0, other_writes: 0 }

/** Counts from now on; `port` is that of Postgres. */
export function startCounting(port: number): () => Counts {
  const spoken = new WeakMap<Socket, Spoken>()
  const hooked = Socket.prototype as unknown as { _writeGeneric: Write }
  const write = hooked._writeGeneric
  hooked._writeGeneric = function (several, data, ...others) {
    if (this.remotePort === port) countSent(this, spoken, several ? (data as Chunk[]) : [{ chunk: data as Buffer }])
    else totals.other_writes += 1
    return write.call(this, several, data, ...others)
  }
  const allocated = countAllocations()
  return () => ({ ...totals, allocated_bytes: allocated() })
}

function countSent(socket: Socket, spoken: WeakMap<Socket, Spoken>, chunks: readonly Chunk[]): void {
  const last = spoken.get(socket)
  const { bytesRead } = socket
  totals.postgres_writes += 1
  if (last?.bytesRead !== bytesRead) totals.round_trips += 1
  if (last) last.bytesRead = bytesRead
  else spoken.set(socket, { bytesRead })
  // The first message of a connection has no type; its first byte is that of a length, and so 0.
  for (const { chunk } of chunks) if (typeof chunk !== 'string') totals.statements += statementsIn(chunk)
}

/** Messages begin with their type and their length without it; a chunk holds whole ones. */
function statementsIn(chunk: Buffer): number {
  let statements = 0
  for (let at = 0; at + 5 <= chunk.length; at += 1 + chunk.readUInt32BE(at + 1)) {
    const type = chunk[at]
    if (type === 0) break
    if (type === QUERY || type === EXECUTE) statements += 1
  }
  return statements
}

/** Collections are looked at in portions, because they are kept until they are looked at. */
function countAllocations(): () => number {
  let profiler = new GCProfiler()
  let before = getHeapStatistics().used_heap_size
  let allocated = 0
  profiler.start()
  const look = () => {
    const { statistics } = profiler.stop()
    for (const { beforeGC, afterGC } of statistics) {
      allocated += Math.max(0, beforeGC.heapStatistics.usedHeapSize - before)
      before = afterGC.heapStatistics.usedHeapSize
    }
    const now = getHeapStatistics().used_heap_size
    allocated += Math.max(0, now - before)
    before = now
    profiler = new GCProfiler()
    profiler.start()
    return allocated
  }
  setInterval(look, LOOK_MS).unref()
  return look
}

const LOOK_MS = 10_000

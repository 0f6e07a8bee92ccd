import { Socket } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { GCProfiler, getHeapStatistics } from 'node:v8'

/**
 * Counts the work of a process from inside, since its start. A measured process loads this before its program; the
 * service itself does not contain it. It costs about 2 µs per socket write, and as much per garbage collection.
 */

/** Counters that only grow, and a delay since the last look. */
export interface Counts {
  /**
   * Number of times a connection to Postgres sent something after it had received something: each is at least one wait.
   */
  readonly round_trips: number
  /** Executed statements, pipelined or not. */
  readonly statements: number
  /** Write system calls: to Postgres, and to all other sockets. */
  readonly postgres_writes: number
  readonly other_writes: number
  /** Allocated on the heap of this thread, from the sizes before and after each collection. */
  readonly allocated_bytes: number
  /** 99th percentile of the event loop's delay since the last look: how long a turn of others holds a request up. */
  readonly loop_p99_ms: number
}

interface Chunk {
  readonly chunk: Buffer | string
}
/** Node's function for each write system call. */
type Write = (this: Socket, several: boolean, data: Buffer | string | readonly Chunk[], ...others: unknown[]) => unknown

/** Connection to Postgres with its last write. */
interface Spoken {
  bytesRead: number
}

const QUERY = 0x51
const EXECUTE = 0x45

const totals = { round_trips: 0, statements: 0, postgres_writes: 0, other_writes: 0 }

/** Starts counting; `port` is that of Postgres. */
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
  const loopDelay = watchLoop()
  return () => ({ ...totals, allocated_bytes: allocated(), loop_p99_ms: loopDelay() })
}

const LOOP_RESOLUTION_MS = 5
const NS_PER_MS = 1e6

/** The histogram contains its own interval. */
function watchLoop(): () => number {
  const histogram = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS })
  histogram.enable()
  return () => {
    const delay_ms = histogram.percentile(99) / NS_PER_MS - LOOP_RESOLUTION_MS
    histogram.reset()
    return Math.max(0, delay_ms)
  }
}

function countSent(socket: Socket, spoken: WeakMap<Socket, Spoken>, chunks: readonly Chunk[]): void {
  const last = spoken.get(socket)
  const { bytesRead } = socket
  totals.postgres_writes += 1
  if (last?.bytesRead !== bytesRead) totals.round_trips += 1
  if (last) last.bytesRead = bytesRead
  else spoken.set(socket, { bytesRead })
  // The first message of a connection has no type; its first byte belongs to a length, and is 0.
  for (const { chunk } of chunks) if (typeof chunk !== 'string') totals.statements += statementsIn(chunk)
}

/** Messages begin with their type and length (without the type); a chunk contains whole messages. */
function statementsIn(chunk: Buffer): number {
  let statements = 0
  for (let at = 0; at + 5 <= chunk.length; at += 1 + chunk.readUInt32BE(at + 1)) {
    const type = chunk[at]
    if (type === 0) break
    if (type === QUERY || type === EXECUTE) statements += 1
  }
  return statements
}

/** Read in portions, because entries are buffered until they are read. */
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

import type { Readable } from 'node:stream'
import { EventStoreDBClient } from '@eventstore/db-client'
import { Unavailable } from '#lib/errors.ts'

/** What the client does not let its users say, though its own methods go through it. */
interface Inside {
  /** Whether the server has a method; asked for one only: whether appends can share a call. */
  supports(): Promise<boolean>
  /** Leaves the connection that failed for a new one; the client calls it without looking at what comes of it. */
  handleError(client: unknown, error: Error): Promise<void>
}

/**
 * A client of version 6 with which an outage cannot end the process, or outlast itself (docs/decisions/0021). Each append is
 * a call of its own: appends that share one leave rejections to nobody when the connection breaks, are all failed by the
 * failure of any, and ask the server first for what it can do, without a time limit and keeping a failure for ever.
 */
export function createEventStoreClient(url: string): EventStoreDBClient {
  const client = connect(url)
  const inside = client as unknown as Inside
  const { handleError } = inside
  inside.supports = async () => false
  // In a cluster without a leader it rejects, where nobody would hear of it. The next call finds a connection, or fails.
  inside.handleError = (failed, error) => handleError(failed, error).catch(() => {})
  return client
}

/** KurrentDB is EventStoreDB's newer name; this client knows only the older scheme. */
function connect(url: string): EventStoreDBClient {
  try {
    return EventStoreDBClient.connectionString(url.replace(/^kurrent(db)?(?=[+:])/, 'esdb'))
  } catch (error) {
    // The error quotes the text, and carries all of it, with its password.
    const reason = (error as Error).message.replace(/^Unexpected ".*"(?= at position)/s, 'something unexpected')
    throw new Error(`the address of the event store cannot be understood: ${reason}`)
  }
}

/** What the client answers a read or a subscription with. */
export interface StreamRead<T> extends Readable {
  [Symbol.asyncIterator](): NodeJS.AsyncIterator<T>
  cancel?(): Promise<void>
  unsubscribe?(): Promise<void>
}

/** Everything that is read from one server and not yet at its end. */
export interface OpenStreams {
  /** All of a read, at once. @throws Unavailable when nothing comes for `silence_ms`. */
  toEnd<T>(reading: StreamRead<T>, silence_ms: number): Promise<T[]>
  /** A subscription, until the signal aborts. */
  follow<T>(subscription: StreamRead<T>, signal: AbortSignal): AsyncIterable<T>
  /** Fails all that is open. */
  close(): void
}

/**
 * Reads with an end. The client's own have no time limit, stay open when they are left in the middle, and end as if they
 * were complete when they are cancelled: so each is either read to its end, or ended here with an error.
 */
export function createOpenStreams(): OpenStreams {
  const open = new Set<StreamRead<unknown>>()

  function track<T>(reading: StreamRead<T>): void {
    open.add(reading)
    // An error may come when nobody reads any more, and one that nobody listens to would end the process.
    reading.on('error', () => {})
  }
  /** The error first: whoever reads must not take the end of what was cancelled for the end of what there is. */
  function end(reading: StreamRead<unknown>, error?: Error): void {
    open.delete(reading)
    reading.destroy(error)
    const cancelled = reading.cancel?.() ?? reading.unsubscribe?.()
    // There may have been no connection to begin with.
    cancelled?.catch(() => {})
  }

  return {
    async toEnd(reading, silence_ms) {
      track(reading)
      const silent = setTimeout(
        () => end(reading, new Unavailable('the event store has stopped answering')),
        silence_ms,
      )
      const all = []
      try {
        for await (const item of reading) {
          all.push(item)
          silent.refresh()
        }
        return all
      } finally {
        clearTimeout(silent)
        open.delete(reading)
      }
    },
    async *follow(subscription, signal) {
      track(subscription)
      const stop = () => end(subscription)
      signal.addEventListener('abort', stop, { once: true })
      try {
        // Iterated, never listened to: an asynchronous listener would let events overlap.
        if (!signal.aborted) yield* subscription
      } catch (error) {
        if (!signal.aborted) throw error
      } finally {
        signal.removeEventListener('abort', stop)
        stop()
      }
    },
    close() {
      for (const reading of open) end(reading, new Unavailable('the event store was closed'))
    },
  }
}

import { EventStoreDBClient } from '@eventstore/db-client'

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
export function createClient(url: string): EventStoreDBClient {
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

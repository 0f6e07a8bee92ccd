import pgListen, { type Subscriber } from 'pg-listen'
import { openServerSet } from './servers.ts'

// A CommonJS module compiled from ESM: its default export is a member here.
const createSubscriber = pgListen.default

/** Receives notifications until it is closed. */
interface Listener {
  close(): Promise<void>
}

interface ListenerOptions {
  readonly databaseUrl: string
  readonly channel: string
  /** Name of the connection in Postgres. */
  readonly application_name: string
  /**
   * Called with the payload of a notification; null if notifications may have been missed, as after every connection.
   */
  readonly onNotification: (payload: string | null) => void
  readonly onError: (error: unknown) => void
}

const RETRY_MS = 1_000
/** Short, because by then another of several servers may be the suitable one. */
const MENDED_WITHIN_MS = 1
const CONNECT_TIMEOUT_MS = 10_000
/** Time after which a dead connection is detected. */
const CHECK_MS = 30_000

/**
 * Listens on a separate connection, and reconnects when it is lost or its server is no longer suitable.
 * pg-listen reconnects to one server for a few seconds; after that, and if the first attempt fails, a new subscriber
 * replaces it.
 */
export function listenToChannel({
  databaseUrl,
  channel,
  application_name,
  onNotification,
  onError,
}: ListenerOptions): Listener {
  let closed = false
  let subscriber: Subscriber | null = null
  let timer: NodeJS.Timeout | undefined
  const servers = openServerSet(databaseUrl)
  const use = servers?.use((why) => subscriber && giveUp(subscriber, why))

  async function open(): Promise<void> {
    try {
      const host = await use?.find()
      if (!closed) await subscribe(host && servers ? servers.urlOf(host) : databaseUrl)
    } catch (error) {
      again(error)
    }
  }

  async function subscribe(connectionString: string): Promise<void> {
    const own = createSubscriber(
      {
        connectionString,
        application_name,
        connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      },
      { paranoidChecking: CHECK_MS, parse: (payload) => payload, ...(servers && { retryTimeout: MENDED_WITHIN_MS }) },
    )
    subscriber = own
    own.notifications.on(channel, (payload: string) => onNotification(payload))
    own.events.on('connected', () => {
      // The subscriber may have been replaced while it was connecting.
      if (closed || subscriber !== own) void own.close().catch(() => {})
      else onNotification(null)
    })
    own.events.on('error', (error) => giveUp(own, error))
    try {
      await own.connect()
      await own.listenTo(channel)
      onNotification(null)
    } catch (error) {
      giveUp(own, error)
    }
  }

  function giveUp(own: Subscriber, error: unknown): void {
    if (subscriber !== own) return
    subscriber = null
    own.close().catch(() => {})
    use?.doubt()
    again(error)
  }

  function again(error: unknown): void {
    if (closed) return
    onError(error)
    timer = setTimeout(() => void open(), RETRY_MS)
  }

  void open()
  return {
    async close() {
      closed = true
      clearTimeout(timer)
      use?.leave()
      const own = subscriber
      subscriber = null
      await own?.close().catch(() => {})
    },
  }
}

import pgListen, { type Subscriber } from 'pg-listen'
import { openServerSet } from './servers.ts'

// CommonJS that was compiled from a module: its default export is a member here.
const createSubscriber = pgListen.default

/** Hears notifications until it is closed. */
interface Listener {
  close(): Promise<void>
}

interface ListenerOptions {
  readonly databaseUrl: string
  readonly channel: string
  /** As Postgres shows the connection. */
  readonly application_name: string
  /** A notification came, with what it says; null when some may have been missed, which is so after every connection. */
  readonly onNotification: (payload: string | null) => void
  readonly onError: (error: unknown) => void
}

const RETRY_MS = 1_000
/** Of several servers another one may be the right one by then. */
const MENDED_WITHIN_MS = 1
const CONNECT_TIMEOUT_MS = 10_000
/** A connection that died without a word is noticed after so long. */
const CHECK_MS = 30_000

/**
 * Listens on a connection of its own, and connects again whenever it is lost, or its server is not the right one any more
 * (OPS-113). pg-listen mends a lost connection to one server for a few seconds; after that, and when the first attempt fails, a
 * new subscriber takes over.
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
      // It may have been given up while it was connecting.
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

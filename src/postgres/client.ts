import type pg from 'pg'
import type { Host } from './hosts.ts'
import { READ_ONLY } from './outage.ts'
import { ByteClient } from './row-bytes.ts'
import { openServerSet, type ServerSet, type ServerUse } from './servers.ts'

type Connected = ((error: Error) => void) | ((error: null, client: pg.Client) => void)

/** Driver options to connect to a URL that may name several hosts. */
export interface Connecting {
  readonly connectionString: string
  readonly Client: new (config?: pg.ClientConfig) => pg.Client
}

/** @throws Error for an invalid URL; the message does not contain it */
export function connectingTo(url: string): Connecting {
  const servers = openServerSet(url)
  if (!servers) return { connectionString: url, Client: ByteClient }
  return { connectionString: servers.urlOf(NOWHERE), Client: clientOf(servers) }
}

/** A separate connection, for commands and migrations. */
export function createClient(url: string, config: pg.ClientConfig): pg.Client {
  const { Client, connectionString } = connectingTo(url)
  return new Client({ ...config, connectionString })
}

/** Placeholder: the host is determined when the connection is made. */
const NOWHERE: Host = { host: '0.0.0.0', port: 1 }

/** ParameterStatus message, which PostgreSQL 14 and later send at the start of a session and at each change. */
interface Parameter {
  readonly parameterName: string
  readonly parameterValue: string
}

/**
 * Postgres's notice that a COMMIT stopped waiting for replicas: it is durable on this server, and possibly on no
 * replica.
 */
const STOPPED_WAITING = 'SyncRepWaitForLSN'

/**
 * Postgres reports success for a COMMIT whose wait for replicas was cancelled (by `pg_cancel_backend`), but its writes
 * are lost if this server is lost. The connection is closed before the answer counts, so the outcome is unknown, as it
 * should be (OPS-111).
 */
export function distrustUnreplicated(client: pg.ClientBase): void {
  client.on('notice', ({ routine }) => {
    if (routine === STOPPED_WAITING)
      breakOff(client as pg.Client, new Error('Connection terminated: a COMMIT waits for no standby any more'))
  })
}

/** Ignores data that was already read from the socket. */
function breakOff(client: pg.Client, why: Error): void {
  if (client.connection.listenerCount('error') > 0) client.connection.emit('error', why)
  client.connection.stream.destroy()
}

/** Connects to the server of the URL that is currently suitable, and closes when it no longer is (OPS-112, OPS-113). */
function clientOf(servers: ServerSet): Connecting['Client'] {
  return class extends ByteClient {
    override connect(): Promise<pg.Client>
    override connect(callback: Connected): void
    override connect(callback?: Connected): Promise<pg.Client> | undefined {
      const connected = this.#connect()
      if (!callback) return connected
      const told = callback as (error: Error | null, client?: pg.Client) => void
      connected.then(
        () => told(null, this),
        (error) => told(error),
      )
      return undefined
    }

    /** Reacts as soon as the server reports that it is read-only. */
    #hear({ doubt }: ServerUse): void {
      this.connection.on('errorMessage', ({ code }: { code?: string }) => {
        if (code === READ_ONLY) doubt()
      })
      this.connection.on('parameterStatus', ({ parameterName, parameterValue }: Parameter) => {
        if (parameterValue === 'on' && READ_ONLY_IF_ON.includes(parameterName)) doubt()
      })
    }

    async #connect(): Promise<pg.Client> {
      const use = servers.use((why) => breakOff(this, why))
      this.once('end', use.leave)
      this.on('error', use.doubt)
      if (servers.takesWrites) this.#hear(use)
      try {
        Object.assign(this, await use.find())
        return await super.connect()
      } catch (error) {
        use.doubt()
        use.leave()
        throw error
      }
    }
  }
}

const READ_ONLY_IF_ON = ['in_hot_standby', 'default_transaction_read_only']

import type pg from 'pg'
import type { Host } from './hosts.ts'
import { READ_ONLY } from './outage.ts'
import { ByteClient } from './row-bytes.ts'
import { openServerSet, type ServerSet, type ServerUse } from './servers.ts'

type Connected = ((error: Error) => void) | ((error: null, client: pg.Client) => void)

/** What the driver takes for connections to a URL, which may name several hosts. */
export interface Connecting {
  readonly connectionString: string
  readonly Client: new (config?: pg.ClientConfig) => pg.Client
}

/** @throws Error for a URL that cannot be read, without the URL */
export function connectingTo(url: string): Connecting {
  const servers = openServerSet(url)
  if (!servers) return { connectionString: url, Client: ByteClient }
  return { connectionString: servers.urlOf(NOWHERE), Client: clientOf(servers) }
}

/** A connection of its own, as commands and migrations have. */
export function createClient(url: string, config: pg.ClientConfig): pg.Client {
  const { Client, connectionString } = connectingTo(url)
  return new Client({ ...config, connectionString })
}

/** Where a connection goes is known only when it is made. */
const NOWHERE: Host = { host: '0.0.0.0', port: 1 }

/** What a server says by itself when a session begins and whenever it changes, from PostgreSQL 14 on. */
interface Parameter {
  readonly parameterName: string
  readonly parameterValue: string
}

/** Postgres's notice that a COMMIT stopped waiting for standbys: it holds here, and may be on none of them. */
const STOPPED_WAITING = 'SyncRepWaitForLSN'

/**
 * A COMMIT that was told to wait no longer (by `pg_cancel_backend`) is answered as if all were well. It is not: what it wrote is
 * lost with this server. The connection is ended before the answer counts, so that the outcome is unknown, which is the truth (OPS-111).
 */
export function distrustUnreplicated(client: pg.ClientBase): void {
  client.on('notice', ({ routine }) => {
    if (routine === STOPPED_WAITING)
      breakOff(client as pg.Client, new Error('Connection terminated: a COMMIT waits for no standby any more'))
  })
}

/** What was read from the socket already is not believed either. */
function breakOff(client: pg.Client, why: Error): void {
  if (client.connection.listenerCount('error') > 0) client.connection.emit('error', why)
  client.connection.stream.destroy()
}

/** Connects to whichever server of the URL is the right one at that time, and ends when it is not any more (OPS-112, OPS-113). */
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

    /** That the server takes no writes, as soon as it says so. */
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

import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { TLSSocket } from 'node:tls'
import { CERTIFICATES } from './tls.ts'

interface EncryptingProxy {
  /** URL of the same database, with mandatory encryption. */
  readonly url: string
  /** Connections that were encrypted. */
  encrypted(): number
  close(): Promise<void>
}

/** Adds TLS to a Postgres without it, when a client requests it by Postgres's protocol. */
export async function startEncryptingProxy(databaseUrl: string): Promise<EncryptingProxy> {
  const { hostname, port } = new URL(databaseUrl)
  let encrypted = 0
  const server = createServer(async (client) => {
    client.on('error', () => {})
    await once(client, 'data')
    client.write('S')
    const secure = new TLSSocket(client, { isServer: true, ...CERTIFICATES[0] })
    secure.once('secure', () => {
      encrypted += 1
    })
    const upstream = connect(Number(port), hostname)
    for (const socket of [secure, upstream]) socket.on('error', () => client.destroy())
    secure.pipe(upstream).pipe(secure)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(databaseUrl)
  url.port = String((server.address() as AddressInfo).port)
  url.searchParams.set('sslmode', 'no-verify')
  return {
    url: url.href,
    encrypted: () => encrypted,
    async close() {
      server.close()
      await once(server, 'close')
    },
  }
}

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP proxy that can interrupt and restore the connection to a server. */
export interface CutProxy {
  readonly port: number
  /** Breaks all connections, and refuses new ones. */
  cut(): void
  mend(): void
  close(): Promise<void>
}

/** Listens on a free port and forwards to `host`:`port`. */
export async function startCutProxy(host: string, port: number): Promise<CutProxy> {
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((client) => {
    if (isCut) {
      client.destroy()
      return
    }
    const upstream = connect(port, host)
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      sockets.add(
        socket
          .on('error', () => {})
          .on('close', () => {
            sockets.delete(socket)
            other.destroy()
          }),
      )
    client.pipe(upstream).pipe(client)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const breakAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true
      breakAll()
    },
    mend() {
      isCut = false
    },
    async close() {
      breakAll()
      server.close()
      await once(server, 'close')
    },
  }
}

import { connect, createServer, type Server, type Socket } from 'node:net'

/** A proxy that fails like networks and crashed servers. */
export interface Relay {
  readonly port: number
  /** Destroys every connection, and accepts none. */
  cut(): Promise<void>
  /** Destroys connections, but accepts new ones. */
  reset(): void
  /** Accepts connections, and passes nothing through them. */
  freeze(): void
  /** Forwards the delayed data. */
  thaw(): void
  /** Accepts connections again on the same port. */
  listen(): Promise<void>
}

export async function startRelay(targetPort: number): Promise<Relay> {
  const pairs = new Set<readonly [Socket, Socket]>()
  let isFrozen = false
  let port = 0
  let server: Server

  function accept(client: Socket): void {
    const upstream = connect({ port: targetPort, host: '127.0.0.1', noDelay: true })
    const pair = [client, upstream] as const
    pairs.add(pair)
    for (const [socket, other] of [pair, [upstream, client] as const]) {
      socket
        .on('error', () => {})
        .on('data', (chunk) => {
          if (!other.write(chunk)) socket.pause()
        })
      other.on('drain', () => {
        if (!isFrozen) socket.resume()
      })
      socket.on('close', () => {
        pairs.delete(pair)
        other.destroy()
      })
      if (isFrozen) socket.pause()
    }
  }
  const reset = () => {
    for (const pair of pairs) for (const socket of pair) socket.destroy()
  }
  const each = (act: (socket: Socket) => void) => {
    for (const pair of pairs) pair.forEach(act)
  }
  const relay: Relay = {
    get port() {
      return port
    },
    reset,
    async cut() {
      const closed = new Promise((done) => server.close(done))
      reset()
      await closed
    },
    freeze() {
      isFrozen = true
      each((socket) => socket.pause())
    },
    thaw() {
      isFrozen = false
      each((socket) => socket.resume())
    },
    async listen() {
      server = createServer({ noDelay: true }, accept)
      await new Promise<void>((done, failed) => server.once('error', failed).listen(port, '127.0.0.1', done))
      port = (server.address() as { port: number }).port
    },
  }
  await relay.listen()
  return relay
}

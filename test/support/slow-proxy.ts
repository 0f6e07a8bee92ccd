import { connect, createServer, type Socket } from 'node:net'

/** A TCP proxy that can delay answers, to detect what a client sends without waiting for them. */
export interface SlowProxy {
  readonly port: number
  /** Holds answers until the client has sent `text` (after this call). */
  holdAnswersUntil(text: string): void
  close(): Promise<void>
}

/** Listens on a free port and forwards to `host`:`port`. */
export async function startSlowProxy(host: string, port: number): Promise<SlowProxy> {
  const sockets = new Set<Socket>()
  let awaited: string | null = null
  let seen = ''
  const release: (() => void)[] = []

  const server = createServer((client) => {
    const upstream = connect(port, host)
    for (const socket of [client, upstream])
      sockets.add(socket.on('error', () => {}).on('close', () => client.destroy()))
    client.on('data', (chunk) => {
      upstream.write(chunk)
      seen += chunk.toString('latin1')
      if (awaited === null || !seen.includes(awaited)) return
      awaited = null
      for (const write of release.splice(0)) write()
    })
    upstream.on('data', (chunk) => {
      if (awaited === null) client.write(chunk)
      else release.push(() => client.write(chunk))
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('the proxy has no port')
  return {
    port: address.port,
    holdAnswersUntil(text) {
      awaited = text
      seen = ''
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((done) => server.close(done))
    },
  }
}

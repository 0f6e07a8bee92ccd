import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'

/** Received request. */
export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Responds to a request, or leaves it without a response. */
export type Answer = (received: Received, response: ServerResponse, request: IncomingMessage) => unknown

/** Server of an integrator, on its own port. */
export interface Receiver {
  readonly url: string
  readonly received: Received[]
  /** Response to the next requests, 204 by default. */
  answer: Answer
  close(): Promise<void>
}

/** Starts a receiver on localhost; with `tls`, over https with that certificate. */
export async function startReceiver(tls?: { key: string; cert: string }): Promise<Receiver> {
  const received: Received[] = []
  const listener: RequestListener = async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = '', url: path = '', headers } = request
    const one = { method, path, headers: headers as Record<string, string>, body: Buffer.concat(chunks).toString() }
    received.push(one)
    receiver.answer(one, response, request)
  }
  const server: Server = tls ? createTlsServer(tls, listener) : createServer(listener)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const receiver: Receiver = {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}/hooks`,
    received,
    answer: (_received, response) => response.writeHead(204).end(),
    async close() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
  return receiver
}

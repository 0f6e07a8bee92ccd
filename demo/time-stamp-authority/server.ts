import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import type { Authority } from './authority.ts'

/** An authority that can be called. */
export interface RunningAuthority {
  readonly url: string
  close(): Promise<void>
}

const HOST = '127.0.0.1'
const MAX_BODY = '16kb'

/** `port` 0 takes any that is free. */
export async function serveAuthority(authority: Authority, port: number): Promise<RunningAuthority> {
  const app = express()
  app.disable('x-powered-by')
  app.post('/', express.raw({ type: 'application/timestamp-query', limit: MAX_BODY }), async (request, response) => {
    if (!Buffer.isBuffer(request.body)) return void response.status(415).end()
    response.type('application/timestamp-reply').end(await authority.reply(request.body))
  })
  const server = await new Promise<Server>((resolve, reject) => {
    const listening = app.listen(port, HOST, (error) => (error ? reject(error) : resolve(listening)))
  })
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Express } from 'express'

/** Loopback only: demonstration servers need no access from other machines. */
const HOST = '127.0.0.1'

/** Running server. */
export interface Served {
  readonly url: string
  close(): Promise<void>
}

/** Serves an app on the loopback interface; `port` 0: any free one. */
export async function serveLocally(app: Express, port: number): Promise<Served> {
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

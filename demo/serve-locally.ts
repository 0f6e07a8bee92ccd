import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Express } from 'express'

/** Nobody but this machine has to reach what is for trying things out. */
const HOST = '127.0.0.1'

/** A program that can be called until it is closed. */
export interface Served {
  readonly url: string
  close(): Promise<void>
}

/** Serves an app to this machine; `port` 0 takes any that is free. */
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

import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Express } from 'express'
import { after, before } from 'mocha'

/**
 * Serves a test's own app on a free port for the tests of a `describe`; returns a getter of the address, for
 * `useBrowser`.
 */
export function useApp(app: Express): () => string {
  let server: Server | undefined
  before('serve the pages', (done) => {
    server = app.listen(0, '127.0.0.1', done)
  })
  after('serve the pages no more', (done) => {
    server?.closeAllConnections()
    server?.close(done)
  })
  return () => {
    if (!server) throw new Error('the app is served only while the tests run: ask in a hook or a test')
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
}

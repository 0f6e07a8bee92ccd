import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import type { Witness } from './witness.ts'

/** A witness that can be called. */
export interface RunningWitness {
  /** Its submission prefix, and its monitoring prefix too. */
  readonly url: string
  close(): Promise<void>
}

/** It vouches for whatever a known log has signed: nobody but this machine has to reach it. */
const HOST = '127.0.0.1'
const MAX_BODY = '64kb'

/** `port` 0 takes any that is free. */
export async function serveWitness(witness: Witness, port: number): Promise<RunningWitness> {
  const app = express()
  app.disable('x-powered-by')
  app.post('/add-checkpoint', express.text({ type: () => true, limit: MAX_BODY }), async (request, response) => {
    const { status, type, body } = await witness.addCheckpoint(typeof request.body === 'string' ? request.body : '')
    response.status(status).set('content-type', type).end(body)
  })
  app.get('/:origin/checkpoint', (request, response) => {
    const note = witness.lastOf(request.params.origin)
    response
      .status(note === null ? 404 : 200)
      .type('text/plain')
      .end(note ?? '')
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

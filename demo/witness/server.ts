import express from 'express'
import { type Served, serveLocally } from '#demo/serve-locally.ts'
import type { Witness } from './witness.ts'

const MAX_BODY = '64kb'

/** `port` 0: any free one. */
export async function serveWitness(witness: Witness, port: number): Promise<Served> {
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
  return serveLocally(app, port)
}

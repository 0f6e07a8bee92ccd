import express from 'express'
import { type Served, serveLocally } from '#demo/serve-locally.ts'
import type { Authority } from './authority.ts'

const MAX_BODY = '16kb'

/** `port` 0: any free one. */
export async function serveAuthority(authority: Authority, port: number): Promise<Served> {
  const app = express()
  app.disable('x-powered-by')
  app.post('/', express.raw({ type: 'application/timestamp-query', limit: MAX_BODY }), async (request, response) => {
    if (!Buffer.isBuffer(request.body)) return void response.status(415).end()
    response.type('application/timestamp-reply').end(await authority.reply(request.body))
  })
  return serveLocally(app, port)
}

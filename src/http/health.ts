import express, { type Router } from 'express'
import type { Core } from '../core.ts'
import { sendJson } from './answer.ts'

/** `/health/live`: the process runs. `/health/ready`: it can serve, or says which part is down. Neither needs a key. */
export function health(parts: Core['health'], isStopping: () => boolean): Router {
  const router = express.Router()
  router.get('/live', (_request, response) => sendJson(response, 200, '{"status":"live"}'))
  router.get('/ready', async (_request, response) => {
    const found = await parts()
    const isReady = Object.values(found).every((state) => state === 'up') && !isStopping()
    const body = {
      status: isReady ? 'ready' : 'not_ready',
      parts: { ...found, ...(isStopping() ? { service: 'stopping' } : {}) },
    }
    sendJson(response, isReady ? 200 : 503, JSON.stringify(body))
  })
  return router
}

import express, { type Router } from 'express'
import { sendJson } from './answer.ts'

export interface ProbeOptions {
  /** States of the parts that this process needs, by name: `up`, or why it cannot serve. */
  readonly health: () => Promise<Readonly<Record<string, string>>>
  readonly isStopping: () => boolean
}

/** `/health/live`: the process runs. `/health/ready`: it can serve, or says which part is down. Neither needs a key. */
export function health({ health, isStopping }: ProbeOptions): Router {
  const router = express.Router()
  router.get('/live', (_request, response) => sendJson(response, 200, '{"status":"live"}'))
  router.get('/ready', async (_request, response) => {
    const found = await health()
    const isReady = Object.values(found).every((state) => state === 'up') && !isStopping()
    const body = {
      status: isReady ? 'ready' : 'not_ready',
      parts: { ...found, ...(isStopping() ? { service: 'stopping' } : {}) },
    }
    sendJson(response, isReady ? 200 : 503, JSON.stringify(body))
  })
  return router
}

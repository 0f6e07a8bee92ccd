import express, { type Router } from 'express'
import type { Pool } from 'pg'
import { sendJson } from './answer.ts'

/** `/health/live`: the process runs. `/health/ready`: it can serve, or says which part is down. Neither needs a key. */
export function health(pool: Pool, isStopping: () => boolean): Router {
  const router = express.Router()
  router.get('/live', (_request, response) => sendJson(response, 200, '{"status":"live"}'))
  router.get('/ready', async (_request, response) => {
    const postgres = await pool.query('select 1').then(
      () => 'up',
      () => 'down',
    )
    const ready = postgres === 'up' && !isStopping()
    const parts = {
      status: ready ? 'ready' : 'not_ready',
      parts: { postgres, ...(isStopping() ? { service: 'stopping' } : {}) },
    }
    sendJson(response, ready ? 200 : 503, JSON.stringify(parts))
  })
  return router
}

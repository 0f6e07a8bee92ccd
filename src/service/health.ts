import express, { type Router } from 'express'
import type { Role } from '#config/config.ts'
import { sendJson } from '#http/answer.ts'
import type { Core } from './core.ts'

/** States of the parts that a process needs, by name: `up`, or why it cannot serve. */
export type Health = () => Promise<Readonly<Record<string, string>>>

/** A process that only delivers goes on delivering without the event store: it is not its part. */
export function healthOf(roles: readonly Role[], core: Pick<Core, 'health'>): Health {
  const needsStore = roles.some((role) => role !== 'dispatcher')
  return async () => {
    const { postgres, ...others } = await core.health()
    return { postgres: postgres ?? 'down', ...(needsStore && others) }
  }
}

/** `/health/live`: the process runs. `/health/ready`: it can serve, or says which part is down. Neither needs a key. */
export function probes(health: Health, isStopping: () => boolean): Router {
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

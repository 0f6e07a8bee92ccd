import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Express } from 'express'
import gracefulShutdown from 'http-graceful-shutdown'
import { serverOf } from '#http/server.ts'
import { answerInShape } from './shapes.ts'

/** Longest wait for requests under way when the service is told to stop. */
const DRAIN_TIMEOUT_MS = 30_000

/** A server that accepts requests. */
export interface Listening {
  /**
   * Accepts for some time more, so that whoever distributes calls can learn of the end, then resolves when every request is
   * answered. From the first moment on every answer ends its connection: no caller uses one that is about to be closed.
   */
  drain(delay_ms: number): Promise<void>
}

interface ListenOptions {
  readonly port: number
  readonly host: string
  readonly newId: () => string
}

/** Rejects when the port cannot be had. */
export async function listen(app: Express, { port, host, newId }: ListenOptions): Promise<Listening> {
  const server = serverOf(app, { newId, answer: answerInShape })
  let delay_ms = 0
  // Its own handling of signals is left out: the process has more to stop than a server.
  const shutDown = gracefulShutdown(server, {
    signals: '',
    timeout: DRAIN_TIMEOUT_MS,
    preShutdown: () => delay(delay_ms),
  })
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    throw new Error(`cannot listen on port ${port}`, { cause: error })
  }
  return {
    async drain(wanted_ms) {
      delay_ms = wanted_ms
      server.prependListener('request', endConnection)
      await shutDown()
    },
  }
}

function endConnection(_request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('Connection', 'close')
}

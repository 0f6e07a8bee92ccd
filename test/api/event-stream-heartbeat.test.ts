import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { mock } from 'node:test'
import { expect } from 'chai'
import { eventStreamRoute } from '#api/v1/event-routes.ts'
import { Unavailable } from '#lib/errors.ts'
import { until } from '../support/wait.ts'

describe('heartbeat of an event stream', () => {
  afterEach(() => mock.timers.reset())

  it('writes nothing if the stream ends while it checks the key [FEED-11]', async () => {
    mock.timers.enable({ apis: ['setInterval'] })
    let checks = 0
    let endCheck = () => {}
    const pool = {
      async query() {
        checks += 1
        if (checks > 1) await new Promise<void>((resolve) => (endCheck = resolve))
        return { rowCount: 1 }
      },
    }
    let cut = () => {}
    const feed = {
      follow(_companyId: number, { moved }: { moved(head: number): void }) {
        moved(0)
        return () => {}
      },
      read: () => new Promise((_, reject) => (cut = () => reject(new Unavailable('the event store is away')))),
    }
    const response = new ServerResponse(new IncomingMessage(new Socket()))
    const errors: Error[] = []
    response.on('error', (error) => errors.push(error))
    // Otherwise data would count as waiting for the reader, and the heartbeat would be left out.
    Object.defineProperty(response, 'writableLength', { value: 0 })
    const caller = { companyId: 1, keyId: 1, scopes: ['audit:read'] }
    const context = { pool, feed, caller, query: {}, after: null } as never
    if (!('send' in eventStreamRoute)) throw new Error('the route sends no stream')
    const sent = eventStreamRoute.send(context, response as never)
    await until(() => checks === 1)
    await new Promise(setImmediate)
    mock.timers.tick(4_000)
    await until(() => checks === 2)
    cut()
    await sent
    endCheck()
    await new Promise(setImmediate)
    expect([response.writableEnded, errors]).to.deep.equal([true, []])
  })
})
